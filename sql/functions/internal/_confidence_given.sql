create or replace function loom._confidence_given(p_request jsonb) returns numeric
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := p_request -> 'confidence';
begin
  if jsonb_typeof(v_value) = 'number' and v_value::numeric between 0 and 1 then
    return round(v_value::numeric, 3);
  end if;
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', 'confidence', 'reason', 'must be a number from 0 to 1')::text,
    hint = 'Correct the named field and send the request again.';
end
$$;
comment on function loom._confidence_given(jsonb) is
  'How sure a fact is, where the request says so. LM001 otherwise.';
