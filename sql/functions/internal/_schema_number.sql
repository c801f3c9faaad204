create or replace function loom._schema_number(p_path text, p_value jsonb, p_least numeric, p_most numeric)
returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_number numeric;
begin
  if p_value is null then
    return null;
  end if;
  if jsonb_typeof(p_value) = 'number' then
    v_number := p_value::numeric;  -- never by way of text: 1e100000 prints as 100,001 digits
  end if;
  if p_least is null then
    return case when v_number is null or not loom._is_double(v_number)
      then loom._schema_fault(p_path, 'must be a number that a double can hold') end;
  end if;
  return case when v_number is null or v_number <> trunc(v_number) or v_number not between p_least and p_most
    then loom._schema_fault(p_path, format('must be a whole number from %s to %s', p_least, p_most)) end;
end
$$;
comment on function loom._schema_number(text, jsonb, numeric, numeric) is
  'The fault of a number in a profile schema, null for none and for one left out: whole and in the range, or where there is no range any finite double.';
