create or replace function loom.looms_activity(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.activity', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_agent text := coalesce(loom._identifier(p_request, 'agent'), '-');
  v_process uuid := loom._uuid(p_request, 'processId');
  v_text text := loom._loom_text(p_request);
  v_credentials text := loom._identifier(p_request, 'credentials');
  v_model text := loom._identifier(p_request, 'model');
  v_org text := v_caller.org;
  v_loom loom.loom;
  v_turn loom.loom_turn;
  v_ok boolean;
begin
  perform loom._loom_sessionless(v_caller);
  v_loom := loom._loom_locked(v_caller, v_loom_id);
  v_caller.namespace := v_loom.namespace;
  v_ok := loom._blacklist_check(v_caller, array[v_text]);
  v_caller.called_at := loom._now();
  insert into loom.loom_turn (org, namespace, loom_id, user_id, agent, process_id, text, at, actor)
  values (v_org, v_loom.namespace, v_loom_id, v_caller.user_id, v_agent, v_process, v_text, v_caller.called_at, v_caller.actor)
  returning * into v_turn;
  update loom.loom
  set last_activity_at = v_caller.called_at, last_activity_process_id = v_process, activity_credentials = v_credentials,
    activity_model = v_model, night_weaving_pending = true, updated_at = v_caller.called_at, updated_by = v_caller.actor
  where org = v_org and loom_id = v_loom_id
  returning * into v_loom;
  return jsonb_build_object('turnId', v_turn.turn_id, 'loomId', v_loom_id,
    'lastActivityAt', loom._ts7(v_loom.last_activity_at), 'lastActivityProcessId', v_loom.last_activity_process_id,
    'nightWeavingPending', v_loom.night_weaving_pending);
end
$$;
comment on function loom.looms_activity(jsonb) is
'Records a turn that an agent took with the loom bound. Night weaving consolidates it after a quiet period, by the credentials and model of the last turn''s run.

Request: loomId*, text* (16384 characters at most), agent, processId, credentials (a name that the worker''s settings know; never a secret), model.
Returns: turnId, loomId, lastActivityAt, lastActivityProcessId, nightWeavingPending.
Errors: LM001, LM003, LM103, LM302, LM406, LM407.';
