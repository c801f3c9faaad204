create or replace function loom._required_version(p_request jsonb) returns bigint
language plpgsql immutable parallel safe
as $$
declare
  v_version bigint := loom._integer(p_request, 'version', 1, 9007199254740991);
begin
  if v_version is null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'version', 'reason', 'is required')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return v_version;
end
$$;
comment on function loom._required_version(jsonb) is 'The version a request must name. LM001.';
