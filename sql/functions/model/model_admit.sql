create or replace function loom.model_admit(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('model.admit', p_request);
  v_api boolean := loom._for_the_api();
  v_model text := loom._required_identifier(p_request, 'model');
begin
  return jsonb_build_object(
    'stop', loom._model_stop(v_caller.org, v_caller.called_at),
    'embedded', exists (
      select from loom.embedding_model where model = v_model and state = 'active' and dimension is not null)
      -- Nor is a namespace made by the record of a call for one that is not there.
      and exists (select from loom.memory_text where org = v_caller.org and namespace = v_caller.namespace));
end
$$;
comment on function loom.model_admit(jsonb) is
'Whether a query may be sent to an embedding model, asked before it leaves; for the API alone, which calls it with the token of whoever searches.

Request: model*.
Returns: stop (why no model may be called for the org: MODEL_CALLS_OFF or MODEL_TOKEN_CAP; null: one may be), embedded (whether searches go by the model, and the namespace has texts to compare with).
Errors: LM001, LM003, LM302 for any caller but the API, LM406.';
