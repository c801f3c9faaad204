create or replace function loom._admit(p_op text, p_request jsonb) returns loom.caller
language plpgsql volatile
set search_path = loom, pg_temp
as $$
declare
  v_op loom.operation;
  v_caller loom.caller;
  v_grant jsonb;
  v_org text;
begin
  select * into v_op from loom.operation where op = p_op;
  -- loom_gateway can call nothing but loom.call, so a `_caller` in its requests is loom.call's word.
  if session_user = 'loom_gateway' then
    v_grant := p_request -> '_caller';
    p_request := p_request - '_caller';
  end if;
  p_request := loom._check_fields(p_request, v_op.accepted);
  v_org := coalesce(loom._identifier(p_request, 'org'),
    case when p_op = 'batch' then loom._batch_org(p_request) end,
    v_grant ->> 'org', v_grant ->> 'default_org');
  if v_org is null or v_org in ('-', '*') then  -- * stands for every org, in bindings
    raise exception using errcode = 'LM003', message = 'The request does not say whose data it means.',
      detail = jsonb_build_object('field', 'org')::text, hint = 'Name the field.';
  end if;
  v_org := set_config('loom.org', v_org, true);
  v_grant := coalesce(v_grant, loom._service_grant(v_org));
  if v_org <> v_grant ->> 'org' then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'org is not the token''s')::text,
      hint = 'A token reaches only its own org.';
  end if;
  if loom._role_rank(v_grant ->> 'role') < loom._role_rank(v_op.role) then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'role', 'needed', v_op.role)::text,
      hint = 'The operation needs a higher role.';
  end if;
  v_caller.called_at := loom._now();
  v_caller.actor := v_grant ->> 'actor';
  v_caller.is_admin := v_grant ->> 'role' = 'admin';
  v_caller.org := v_org;
  v_caller := loom._reach(v_caller, v_op, v_grant, p_request);
  if v_op.mode = 'write' and v_op.takes_user then
    perform loom._user_lock(v_op.user_lock, loom._user_lock_key(v_org, v_caller.user_id));
  end if;
  if v_op.mode = 'write' and v_caller.namespace is not null then
    v_caller.namespace := loom._ensure_namespace(v_caller);
  end if;
  return v_caller;
end
$$;
comment on function loom._admit(text, jsonb) is
  'Refuses unknown fields, checks who calls and what it may reach, sets the transaction-local org that row-level security tests, takes the user''s shared lock for a write, and makes the namespace at its first write. Returns the checked identity. Errors: LM001, LM003, LM302, LM406.';
