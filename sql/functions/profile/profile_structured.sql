create or replace function loom.profile_structured(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile.structured', p_request);
  v_user text := loom._profiled_user(v_caller, p_request);
  v_explain boolean := loom._boolean(p_request, 'explain');
  v loom.profile_standing := loom._profile_standing(v_caller.org, v_caller.namespace, v_user);
  v_status text := loom._profile_status(v, v_caller.called_at);
  v_answer jsonb;
begin
  v_answer := jsonb_build_object(
    'profile', case
      when v_status = 'no_schema' then '{}'
      when (v.build).row_state = 'served' then (v.stored).value
      else loom._structured_profile_value((v.schema).json_schema, null) end,
    'status', v_status);
  if (v.build).row_state = 'served' and v_status <> 'no_schema' then
    v_answer := v_answer || jsonb_build_object('built_at', loom._ts((v.build).built_at), 'memory_id', (v.stored).memory_id,
      'version', (v.stored).version, 'version_text', (v.stored).version::text);
  else
    v_answer := v_answer || '{"built_at": null, "memory_id": null, "version": null, "version_text": null}';
  end if;
  if v_explain then
    v_answer := v_answer || jsonb_build_object('explain',
      loom._profile_explained(v, loom._model_stop(v_caller.org, v_caller.called_at), v_caller.called_at));
  end if;
  return v_answer;
end
$$;
comment on function loom.profile_structured(jsonb) is
'One user''s profile in the shape of the namespace''s schema, with its status. Never calls a model, and costs the same however many facts the user has. A token bounded to a session is refused: a profile spans the sessions. While a user waits for the org''s model calls or for tokens of the next day, last_error is MODEL_CALLS_OFF or MODEL_TOKEN_CAP.

Request: user_id* (or the token''s pinned user), explain.
Returns: profile (every property, null where unsettled; {} without a schema; as it was built while stale), status (ready: built from the facts of now under the schema of now, or there is nothing to build; stale: a fact or the schema has changed since; pending: no profile to serve yet; no_schema), built_at, memory_id, version, version_text; with explain also {source_count, sources_match, schema_match, due_at, listed_at, attempts, last_error, next_attempt_at, refused, sources: property and ids of the facts it was told from}.
Errors: LM001, LM003, LM302, LM406.';
