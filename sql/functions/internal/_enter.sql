create or replace function loom._enter(p_op text, p_request jsonb) returns loom.caller
language plpgsql volatile
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._admit(p_op, p_request);
begin
  if v_caller.actor = 'open' then
    perform from loom.operation where op = p_op and role = 'admin';
    if found then
      perform loom._audit(v_caller.org, 'open', v_caller.called_at, 'open_mode.admin',
        jsonb_build_object('op', p_op));
    end if;
  end if;
  return v_caller;
end
$$;
comment on function loom._enter(text, jsonb) is
  'First statement of every operation: admits the caller (loom._admit) and records an admin operation under open mode. Errors: LM001, LM003, LM302, LM406.';
