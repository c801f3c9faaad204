create or replace function loom._profiled_user(p_caller loom.caller, p_request jsonb) returns text
language plpgsql immutable
as $$
begin
  if p_caller.bound_session is not null then
    if p_request ? 'session_id' then
      raise exception using errcode = 'LM302', message = 'The caller may not do this.',
        detail = jsonb_build_object('reason', 'a profile spans the user''s sessions')::text,
        hint = 'Use a token that is not bounded to a session.';
    end if;
    raise exception using errcode = 'LM003', message = 'The request does not say whose data it means.',
      detail = jsonb_build_object('field', 'session_id')::text, hint = 'Use a token that is not bounded to a session.';
  end if;
  if p_caller.user_id = '-' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'user_id', 'reason', 'must name a user')::text,
      hint = 'A profile is one user''s.';
  end if;
  return p_caller.user_id;
end
$$;
comment on function loom._profiled_user(loom.caller, jsonb) is
  'The user whose profile is meant, as it is built of all their sessions. LM001 for user -, LM003 and LM302 for a token bounded to a session.';
