create or replace function loom._integer(p_request jsonb, p_field text, p_least bigint, p_most bigint)
returns bigint
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
declare
  v_value jsonb := p_request -> p_field;
  v_number numeric;
begin
  if v_value is null or v_value = 'null' then
    return null;
  end if;
  if jsonb_typeof(v_value) = 'number' then
    v_number := v_value::numeric;  -- never by way of text: 1e100000 prints as 100,001 digits
    if v_number = trunc(v_number) and v_number between p_least and p_most then
      return v_number;
    end if;
  end if;
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', p_field,
      'reason', format('must be a whole number from %s to %s', p_least, p_most))::text,
    hint = 'Correct the named field and send the request again.';
end
$$;
comment on function loom._integer(jsonb, text, bigint, bigint) is
  'A whole-number field of a request within its range; null when left out or null. LM001 otherwise.';
