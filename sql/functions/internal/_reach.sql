create or replace function loom._reach(p_caller loom.caller, p_op loom.operation, p_grant jsonb, p_request jsonb)
returns loom.caller
language plpgsql immutable
set search_path = loom, pg_temp
as $$
declare
  v_write boolean := p_op.mode = 'write';
begin
  p_caller.bound_namespace := p_grant ->> 'namespace';
  p_caller.bound_user := p_grant ->> 'user_id';
  p_caller.bound_session := p_grant ->> 'session_id';
  if p_op.takes_namespace then
    p_caller.namespace := coalesce(loom._identifier(p_request, 'namespace'), p_caller.bound_namespace,
      p_grant ->> 'default_namespace');
    if p_caller.namespace = '-' or (p_caller.namespace is null and p_op.namespace_needed) then
      raise exception using errcode = 'LM003', message = 'The request does not say whose data it means.',
        detail = jsonb_build_object('field', 'namespace')::text, hint = 'Name the field.';
    end if;
    if p_caller.namespace <> p_caller.bound_namespace then
      raise exception using errcode = 'LM302', message = 'The caller may not do this.',
        detail = jsonb_build_object('reason', 'namespace is not the token''s')::text,
        hint = 'This token reaches only its own namespace.';
    end if;
  end if;
  if p_op.takes_agent then
    p_caller.agent := coalesce(loom._identifier(p_request, 'agent'), '-');
  end if;
  if p_op.takes_user then
    p_caller.user_id := loom._within(p_caller.bound_user,
      coalesce(loom._identifier(p_request, p_op.user_field), p_caller.bound_user, '-'), v_write, p_op.user_field);
  end if;
  if p_op.takes_session then
    p_caller.session_id := loom._within(p_caller.bound_session,
      coalesce(loom._identifier(p_request, 'session_id'), p_caller.bound_session, '-'), v_write, 'session_id');
  end if;
  if p_op.takes_run then
    p_caller.run_id := coalesce(loom._identifier(p_request, 'run_id'), '-');
  end if;
  if 'read_scope' = any (p_op.fields) then
    p_caller := loom._reach_users(p_caller, p_request);
  end if;
  return p_caller;
end
$$;
comment on function loom._reach(loom.caller, loom.operation, jsonb, jsonb) is
  'Fills in the identity that an operation takes from request, token and defaults, and refuses what lies outside the token''s bounds. Errors: LM003, LM302, LM406.';
