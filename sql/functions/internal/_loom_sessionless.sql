create or replace function loom._loom_sessionless(p_caller loom.caller) returns void
language plpgsql immutable
as $$
begin
  if p_caller.bound_session is not null then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'the token is bound to a session')::text,
      hint = 'What is woven into a loom outlasts the session; use a token without a session bound.';
  end if;
end
$$;
comment on function loom._loom_sessionless(loom.caller) is
  'LM302 for a token that is bound to a session: a thread would take what it says out of the session.';
