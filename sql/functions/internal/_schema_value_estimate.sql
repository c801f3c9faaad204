create or replace function loom._schema_value_estimate(p_schema jsonb) returns integer
language plpgsql immutable parallel safe
as $$
declare
  v_longest integer;
begin
  if p_schema ->> 'type' <> 'string' then
    return 12;
  end if;
  if p_schema ? 'enum' then
    select max(char_length(element)) into v_longest from jsonb_array_elements_text(p_schema -> 'enum') as element;
  end if;
  v_longest := least(v_longest, (p_schema -> 'maxLength')::integer);  -- leaves aside what is null
  return coalesce((v_longest + 1) / 2, 48);
end
$$;
comment on function loom._schema_value_estimate(jsonb) is
  'The tokens that one value of a profile schema may take: half a token for each character that a string can have, 48 for one without bounds, 12 for any other value.';
