create or replace function loom._confidence(p_request jsonb) returns numeric
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
declare
  v_value jsonb := p_request -> 'confidence';
begin
  if v_value is null or v_value = 'null' then
    return null;
  end if;
  if jsonb_typeof(v_value) = 'number' and v_value::numeric between 0 and 1 then
    return round(v_value::numeric, 3);
  end if;
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', 'confidence', 'reason', 'must be a number from 0 to 1')::text,
    hint = 'Correct the named field and send the request again.';
end
$$;
comment on function loom._confidence(jsonb) is 'How sure a fact is, 0 to 1, three decimals kept; null when left out. LM001 otherwise.';
