create or replace function loom.memory_unlock(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.unlock', p_request);
  v_old loom.memory := loom._memory_lock(v_caller, loom._required_identifier(p_request, 'memory_key'));
  v_at timestamptz := loom._memory_now(v_old);
  v_new loom.memory := v_old;
begin
  if v_old.version is null then
    perform loom._memory_must_be_current(v_old, v_at);
  elsif v_old.lock_mode is null then
    return loom._memory_receipt(v_old, v_at, false, true);
  end if;
  v_new.lock_mode := null;
  v_new.lock_reason := null;
  v_new.lock_until := null;
  perform loom._audit(v_caller.org, v_caller.actor, v_at, 'memory.unlock',
    jsonb_build_object('memory_id', v_old.memory_id));
  return loom._memory_remark(v_caller, v_old, v_new, 'unlock', v_at, true);
end
$$;
comment on function loom.memory_unlock(jsonb) is
'Takes a lock off, also off a row that is deleted or redacted. Dates the fact anew. Audited.

Request: memory_key*.
Returns: row receipt; noop for a row without a lock.
Errors: LM001, LM003, LM102, LM302, LM406.';
