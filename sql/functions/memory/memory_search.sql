create or replace function loom.memory_search(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.search', p_request);
  v_query text := loom._search_text_asked(p_request);
  v_filter loom.search_filter := loom._search_narrowed(p_request);
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 100), 20);
  v_explain boolean := coalesce(loom._boolean(p_request, 'explain'), false);
  v_asked loom.search_query := loom._search_asked(v_caller, v_query, loom._query_embedding(p_request));
begin
  return jsonb_strip_nulls(jsonb_build_object(
      'scratchpad', loom._scratchpad(v_caller), 'explain', case when v_explain then loom._search_explained(v_asked) end))
    || jsonb_build_object('items', loom._search_items(v_caller, v_filter, v_asked, v_limit), 'legs', v_asked.legs);
end
$$;
comment on function loom.memory_search(jsonb) is
'The current rows in reach that a question finds, best first, by full text and, where the question comes with a vector of the active model, by vectors; fused by reciprocal rank (k = 60). Words are joined by or, stop words left out; more and rarer words count more. Profile sections are never among them. Rows that say the same appear once, as the oldest. The list ends earlier where its values come to a megabyte.

Request: query* (2000 characters at most), memory_type (semantic, episodic, procedural, preference, decision), tags (rows with all of them), source_class (stated, observed, imported, derived), read_scope (own_user, own_session, namespace), limit (1 to 100, default 20), explain, query_embedding {model, vector} (what the named model made of the query; the API fills it in).
Returns: items [{as in memory.list, and score, legs {leg: place in it}}], legs {text: {ran, reason}, vector: {ran, reason}} (which were gone, and why not), scratchpad [{block_key, layer, content, content_sha256}] (where a session or run is named: its blocks, the narrower winning), explain {words, model} (when asked for).
Errors: LM001, LM003, LM302, LM406.';
