create or replace function loom.memory_lock(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.lock', p_request);
  v_mode text := loom._choice(p_request, 'mode', '{read_only,no_delete}');
  v_reason text := loom._text(p_request, 'reason', true);
  v_old loom.memory := loom._memory_lock(v_caller, loom._required_identifier(p_request, 'memory_key'));
  v_at timestamptz := loom._memory_now(v_old);
  v_new loom.memory := v_old;
  v_ok boolean;
begin
  perform loom._memory_must_be_current(v_old, v_at);
  if loom._memory_locked(v_old, v_at) and not v_caller.is_admin then
    raise exception using errcode = 'LM205', message = 'The row is locked.',
      detail = jsonb_build_object('reason', v_old.lock_reason, 'until', loom._ts(v_old.lock_until))::text,
      hint = 'Only an admin replaces a lock.';
  end if;
  v_new.lock_mode := coalesce(v_mode, 'read_only');
  perform loom._bounded_text(p_request, 'reason', 500);
  v_new.lock_reason := v_reason;
  v_ok := loom._blacklist_check(v_caller, array[v_new.lock_reason]);
  v_new.lock_until := loom._until(p_request, v_at);
  perform loom._audit(v_caller.org, v_caller.actor, v_at, 'memory.lock',
    jsonb_build_object('memory_id', v_old.memory_id, 'mode', v_new.lock_mode));
  return loom._memory_remark(v_caller, v_old, v_new, 'lock', v_at, true);
end
$$;
comment on function loom.memory_lock(jsonb) is
'Guards a row against change (read_only) or against deletion (no_delete). Dates the fact anew. A writer cannot replace a lock, an admin can. Audited.

Request: memory_key*, reason* (500 characters at most; told to whom is refused), mode (read_only, the default, or no_delete), until or ttl_seconds.
Returns: row receipt.
Errors: LM001, LM003, LM102, LM205 locked already, LM302, LM406, LM407 blacklisted.';
