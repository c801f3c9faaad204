create or replace function loom._labels(p_request jsonb) returns text[]
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := p_request -> 'labels';
  v_labels text[];
begin
  if v_value is null or v_value = 'null' then
    return null;
  end if;
  perform loom._check_strings(v_value, 'labels');
  if jsonb_array_length(v_value) > 100 then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'labels', 'limit', 100, 'value', jsonb_array_length(v_value))::text,
      hint = 'Name fewer sections.';
  end if;
  select array_agg(loom._identifier(jsonb_build_object('labels', label), 'labels') order by place) into v_labels
  from jsonb_array_elements_text(v_value) with ordinality as named (label, place);
  return coalesce(v_labels, '{}');
end
$$;
comment on function loom._labels(jsonb) is
  'The labels a render names, in their order; null when left out. LM001 when it is no list of strings, LM406 over 100 labels or a label out of its limits.';
