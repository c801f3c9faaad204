create or replace function loom._boolean(p_request jsonb, p_field text)
returns boolean
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
declare
  v_value jsonb := p_request -> p_field;
begin
  if v_value is null or v_value = 'null' then
    return null;
  end if;
  if jsonb_typeof(v_value) <> 'boolean' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', p_field, 'reason', 'must be true or false')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return v_value::boolean;
end
$$;
comment on function loom._boolean(jsonb, text) is
  'A true-or-false field of a request; null when left out or null. LM001 otherwise.';
