create or replace function loom._reach(p_op loom.operation, p_grant jsonb, p_org text, p_request jsonb)
returns loom.caller
language plpgsql volatile
as $$
declare
  -- One expression, since each one is prepared anew in every transaction.
  v_caller loom.caller := row(p_grant ->> 'actor', p_grant ->> 'role' = 'admin', p_org,
    case when p_op.takes_namespace then coalesce(loom._identifier(p_request, 'namespace'), p_grant ->> 'namespace',
      p_grant ->> 'default_namespace') end,
    case when p_op.takes_agent then coalesce(loom._identifier(p_request, 'agent'), '-') end,
    case when p_op.takes_user then coalesce(loom._identifier(p_request, p_op.user_field), p_grant ->> 'user_id', '-') end,
    case when p_op.takes_session then coalesce(loom._identifier(p_request, 'session_id'), p_grant ->> 'session_id',
      '-') end,
    case when p_op.takes_run then coalesce(loom._identifier(p_request, 'run_id'), '-') end,
    p_grant ->> 'namespace', p_grant ->> 'user_id', p_grant ->> 'session_id', loom._now(), null, null)::loom.caller;
begin
  if v_caller.org <> p_grant ->> 'org' or loom._role_rank(p_grant ->> 'role') < loom._role_rank(p_op.role)
    or v_caller.namespace = '-' or v_caller.namespace <> v_caller.bound_namespace
    or (v_caller.namespace is null and p_op.takes_namespace and p_op.namespace_needed) then
    perform loom._reach_refuse(p_op, p_grant, v_caller);
  end if;
  if v_caller.bound_user is not null and p_op.takes_user then
    v_caller.user_id := loom._within(v_caller.bound_user, v_caller.user_id, p_op.mode = 'write', p_op.user_field);
  end if;
  if v_caller.bound_session is not null and p_op.takes_session then
    v_caller.session_id := loom._within(v_caller.bound_session, v_caller.session_id, p_op.mode = 'write', 'session_id');
  end if;
  if 'read_scope' = any (p_op.fields) then
    v_caller := loom._reach_users(v_caller, p_request);
  end if;
  return v_caller;
end
$$;
comment on function loom._reach(loom.operation, jsonb, text, jsonb) is
  'The identity that an operation takes from request, token and defaults. Refuses what the caller''s role does not allow or lies outside the token''s bounds. Errors: LM003, LM302, LM406.';
