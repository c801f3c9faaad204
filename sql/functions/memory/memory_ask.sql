create or replace function loom.memory_ask(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.ask', p_request);
  v_query text := loom._search_text_asked(p_request);
  v_filter loom.search_filter := loom._search_narrowed('{}');
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 100), 20);
  v_embedding jsonb := loom._query_embedding(p_request);
  v_stop text := case when session_user = 'loom_gateway' then loom._model_stop(v_caller.org, v_caller.called_at)
    else 'NO_MODEL' end;
begin
  if v_stop is not null then
    raise exception using errcode = 'LM501', message = 'No model can be asked.',
      detail = jsonb_build_object('reason', v_stop)::text,
      hint = 'The API answers this where it has a model and may call it; the database calls none. memory.search finds the facts.';
  end if;
  -- What there is to answer from. The API has a model answer, and sends only that to the client; what is of
  -- high sensitivity goes to no provider.
  return jsonb_build_object('scratchpad', coalesce(loom._scratchpad(v_caller), '[]'),
    'items', jsonb_path_query_array(
      loom._search_items(v_caller, v_filter, loom._search_asked(v_caller, v_query, v_embedding), v_limit),
      'strict $[*] ? (@.sensitivity != "high")'));
end
$$;
comment on function loom.memory_ask(jsonb) is
'An answer in words from the facts in reach, the blocks of the named run and session too, and which facts it is from. The API''s model makes it; a service that calls by SQL is refused, since the database calls no model. Facts of high sensitivity are not given to it. Where nothing else is found no model is called, and answer is null, as it is where the facts do not say.

Request: query* (2000 characters at most), read_scope (own_user, own_session, namespace), limit (1 to 100, default 20), query_embedding {model, vector} (as in memory.search).
Returns: answer (null: what is known does not say), memory_ids.
Errors: LM001, LM003, LM302, LM406, LM501 (reason: NO_MODEL, MODEL_CALLS_OFF, MODEL_TOKEN_CAP, or how the model''s provider failed).';
