create or replace function loom._integer_given(p_request jsonb, p_field text, p_least bigint, p_most bigint)
returns bigint
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := p_request -> p_field;
  v_number numeric;
begin
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
comment on function loom._integer_given(jsonb, text, bigint, bigint) is
  'A whole-number field within its range, where it is there. LM001 otherwise.';
