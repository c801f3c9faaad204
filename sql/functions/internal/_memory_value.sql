create or replace function loom._memory_value(p_request jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
begin
  if not p_request ? 'value' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'value', 'reason', 'is required')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return p_request -> 'value';
end
$$;
comment on function loom._memory_value(jsonb) is 'The value of a set: any JSON, null included, but it must be there. LM001.';
