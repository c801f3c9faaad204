create or replace function loom._labelled(p_tags text[], p_request jsonb) returns text[]
language plpgsql immutable parallel safe
as $$
declare
  v_change jsonb := p_request -> 'tags';
  v_removed text[];
  v_tags text[];
begin
  if v_change is null or v_change = 'null' then
    return p_tags;
  end if;
  if jsonb_typeof(v_change) <> 'object' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'tags', 'reason', 'must be an object with add, remove or replace')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  perform loom._check_fields(v_change, '{add,remove,replace}');
  v_removed := coalesce(loom._tags(v_change, 'remove'), '{}');
  v_tags := coalesce(loom._tags(v_change, 'replace'), p_tags) || coalesce(loom._tags(v_change, 'add'), '{}');
  v_tags := array(
    select distinct tag collate "C" from unnest(v_tags) as tag
    where not tag = any (v_removed) order by 1);
  return loom._tags(jsonb_build_object('tags', to_jsonb(v_tags)), 'tags');
end
$$;
comment on function loom._labelled(text[], jsonb) is
  'The tags after a label: replaced, then added to, then taken from; sorted, each once. LM001, LM406.';
