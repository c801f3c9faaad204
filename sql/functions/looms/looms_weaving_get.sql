create or replace function loom.looms_weaving_get(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.weaving_get', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_weaving_id uuid := loom._uuid(p_request, 'weavingId', true);
  v_weaving loom.loom_weaving := loom._weaving_named(loom._loom_in_reach(v_caller, v_loom_id), v_weaving_id);
begin
  v_caller := loom._loom_reach(v_caller, p_request);
  return loom._weaving_json(v_weaving) || jsonb_build_object('changes', loom._weaving_changes(v_caller, v_weaving_id));
end
$$;
comment on function loom.looms_weaving_get(jsonb) is
'One weaving, with what it changed, or as a dry run would change, of the named user and of -.

Request: loomId*, weavingId*, readScope (own_user, own_session, namespace).
Returns: id, loomId, cause (night, request), dryRun, state (queued, running, done, failed), error, processId, model, promptTokens, completionTokens, added, revised, retired, dropped, dateRequested, dateStarted, dateEnded, dateReverted, changes [{action (add, revise, retire), threadId, kind, agent, userId, fromVersion, toVersion, text, reason, reverted}].
Errors: LM001, LM003, LM103, LM105, LM302, LM406.';
