-- What stands for `_enter` while a database is of the first schema, whose own one is gone: it looks
-- into the same tables, takes the same lock, and refuses less.
create or replace function loom._enter(p_op text, p_request jsonb) returns loom.caller
language plpgsql volatile
set search_path = loom, pg_temp
as $$
declare
  v_op loom.operation;
  v_caller loom.caller;
begin
  select * into v_op from loom.operation where op = p_op;
  v_caller.org := set_config('loom.org', p_request ->> 'org', true);
  v_caller.actor := loom._service_grant(v_caller.org) ->> 'actor';
  v_caller.is_admin := false;
  v_caller.namespace := p_request ->> 'namespace';
  v_caller.agent := coalesce(p_request ->> 'agent', '-');
  v_caller.user_id := coalesce(p_request ->> 'user_id', '-');
  v_caller.session_id := '-';
  v_caller.run_id := '-';
  v_caller.called_at := loom._now();
  perform loom._user_locked(v_op.user_lock, loom._user_lock_key(v_caller.org, v_caller.user_id));
  v_caller.namespace := loom._ensure_namespace(v_caller);
  return v_caller;
end
$$;
comment on function loom._enter(text, jsonb) is 'Stands for _enter on the first schema.';
