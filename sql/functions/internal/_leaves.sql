create or replace function loom._leaves(p_value jsonb) returns text[]
language plpgsql immutable parallel safe
as $$
begin
  case jsonb_typeof(p_value)
    when 'string' then
      return array[p_value #>> '{}'];
    when 'number' then
      return array[loom._canonical_number(p_value::numeric, '$.value')];
    when 'array' then
      return array(select leaf from jsonb_array_elements(p_value) as element, unnest(loom._leaves(element)) as leaf);
    when 'object' then
      return array(
        select leaf from jsonb_each(p_value) as field, unnest(loom._leaves(field.value) || field.key) as leaf);
    else
      return '{}';
  end case;
end
$$;
comment on function loom._leaves(jsonb) is 'Every string, number and key in a value: what a blacklist is held against.';
