create or replace function loom._admit(p_op text, p_request jsonb, p_audited boolean) returns loom.caller
language plpgsql volatile
as $$
declare
  v_op loom.operation;
  v_caller loom.caller;
  v_grant jsonb;
  v_org text;
  v_locked boolean;
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
  v_caller := loom._reach(v_op, v_grant, v_org, p_request);
  if p_audited and v_caller.actor = 'open' and v_op.role = 'admin' then
    perform loom._audit(v_org, 'open', v_caller.called_at, 'open_mode.admin', jsonb_build_object('op', p_op));
  end if;
  if v_op.mode = 'write' then
    v_locked := v_op.takes_user and loom._user_locked(v_op.user_lock, loom._user_lock_key(v_org, v_caller.user_id));
    v_caller.namespace := loom._ensure_namespace(v_caller);
  end if;
  return v_caller;
end
$$;
comment on function loom._admit(text, jsonb, boolean) is
  'Refuses unknown fields, checks who calls and what it may reach, sets the transaction-local org that row-level security tests, takes the user''s lock for a write, and makes the namespace at its first write. An admin''s call in open mode is audited where p_audited. Returns the checked identity. Errors: LM001, LM003, LM302, LM406.';
