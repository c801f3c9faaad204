create or replace function loom._if_absent_given(p_request jsonb) returns boolean
language plpgsql immutable parallel safe
as $$
declare
  v_if_absent boolean := coalesce(loom._boolean(p_request, 'if_absent'), false);
begin
  if v_if_absent and loom._text(p_request, 'if_match_sha256') is not null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'if_absent', 'reason', 'contradicts if_match_sha256')::text,
      hint = 'Send one of the two conditions.';
  end if;
  return v_if_absent;
end
$$;
comment on function loom._if_absent_given(jsonb) is
  'The if_absent condition of a write that has one. LM001 together with if_match_sha256.';
