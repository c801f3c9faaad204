create or replace function loom._tags_given(p_request jsonb, p_field text) returns text[]
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := p_request -> p_field;
  v_tags text[];
  v_longest integer;
  v_counted bigint;
  v_ok boolean;
begin
  v_ok := loom._check_strings(v_value, p_field);
  -- Tags that name a protected attribute come by themselves: they do not count.
  select array_agg(distinct tag collate "C" order by tag collate "C"), max(char_length(tag)),
    count(distinct tag) filter (where not tag ^@ 'attribute:')
  into v_tags, v_longest, v_counted from jsonb_array_elements_text(v_value) as tag;
  if v_counted > 50 or cardinality(v_tags) > 100 or v_longest > 100 or '' = any (v_tags) then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = case when v_counted > 50 or cardinality(v_tags) > 100
        then jsonb_build_object('what', p_field, 'limit', 50, 'value', cardinality(v_tags))
        else jsonb_build_object('what', p_field, 'limit', 100, 'value', case when '' = any (v_tags) then 0 else v_longest end,
          'unit', 'characters') end::text,
      hint = 'At most 50 tags of 1 to 100 characters.';
  end if;
  return coalesce(v_tags, '{}');
end
$$;
comment on function loom._tags_given(jsonb, text) is
  'A list of tags, where it is there: sorted and each once. LM001, LM406.';
