create or replace function loom._profile_asked(p_request jsonb) returns boolean
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := p_request -> 'profile';
begin
  if v_value is null or v_value in ('null', '"auto"') then
    return null;
  end if;
  if jsonb_typeof(v_value) <> 'boolean' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'profile', 'reason', 'must be auto, true or false')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return v_value::boolean;
end
$$;
comment on function loom._profile_asked(jsonb) is 'Whether a request wants profile sections; null: when the question is about the user. LM001.';
