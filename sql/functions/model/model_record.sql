create or replace function loom.model_record(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('model.record', p_request);
  v_api boolean := loom._for_the_api();
  v_purpose text := loom._choice(p_request, 'purpose', '{ask,query_embedding}');
  v_model text := loom._required_identifier(p_request, 'model');
  v_calls loom.model_usage[] := loom._calls_used(v_purpose, v_model, p_request -> 'calls');
begin
  perform loom._model_used(v_caller.org, v_caller.namespace, '-', v_purpose, v_model, v_calls, v_caller.called_at);
  return jsonb_build_object('recorded', cardinality(v_calls));
end
$$;
comment on function loom.model_record(jsonb) is
'Records calls of a model that the API made for a request, and adds them to what the org has used today; for the API alone, which calls it with the token of whoever asked. No user is named: nothing of an erased one comes back.

Request: purpose* (ask, query_embedding), model*, calls* [{outcome* (OK or a code in capitals), prompt_tokens*, completion_tokens*, milliseconds*}].
Returns: recorded (calls).
Errors: LM001, LM003, LM302 for any caller but the API, LM406.';
