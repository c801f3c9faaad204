create or replace function loom.looms_thread_delete(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.thread_delete', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_thread_id uuid := loom._uuid(p_request, 'threadId', true);
  v_loom loom.loom;
  v_thread loom.loom_thread;
  v_new loom.loom_thread;
begin
  perform loom._loom_unpinned(v_caller);
  v_thread := loom._loom_thread_named(loom._loom_in_reach(v_caller, v_loom_id), v_thread_id);
  perform pg_advisory_xact_lock_shared(loom._user_lock_key(v_caller.org, v_thread.user_id));
  v_loom := loom._loom_locked(v_caller, v_loom_id);
  v_thread := loom._loom_thread_named(v_loom, v_thread_id);  -- as it stands behind the locks
  -- One that a weaving retired is deleted anew, so that no revert of that weaving brings it back.
  if v_thread.deleted_at is null or v_thread.weaving_id is not null then
    v_new := v_thread;
    v_new.deleted_at := v_caller.called_at;
    v_new.weaving_id := null;
    v_thread := loom._loom_thread_store(v_thread, v_new, v_caller.actor, v_caller.called_at);
  end if;
  return jsonb_build_object('entity', loom._loom_thread_json(v_thread));
end
$$;
comment on function loom.looms_thread_delete(jsonb) is
'Deletes a thread, leaving a tombstone for 14 days: no agent is told it again, and no revert brings it back. Not for a token that is pinned to a user.

Request: loomId*, threadId*.
Returns: entity (the thread).
Errors: LM001, LM003, LM103, LM104, LM302, LM406.';
