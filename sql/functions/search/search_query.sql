create or replace function loom.search_query(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('search.query', p_request);
  v_query text := loom._search_text_asked(p_request);
  v_filter loom.search_filter := loom._search_narrowed(p_request);
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 100), 20);
  v_explain boolean := coalesce(loom._boolean(p_request, 'explain'), false);
  v_asked loom.search_query := loom._search_asked(v_caller, v_query, loom._query_embedding(p_request));
  v_profile boolean := coalesce(loom._profile_asked(p_request), loom._about_user(v_caller, v_query));
begin
  return jsonb_strip_nulls(jsonb_build_object(
      'scratchpad', loom._scratchpad(v_caller), 'explain', case when v_explain then loom._search_explained(v_asked) end))
    || jsonb_build_object('memories', loom._search_items(v_caller, v_filter, v_asked, v_limit),
      'profile', case when v_profile then loom._search_sections(v_caller, v_asked, v_limit) else '[]' end,
      'about_user', v_profile, 'legs', v_asked.legs);
end
$$;
comment on function loom.search_query(jsonb) is
'What memory.search finds, and profile sections in reach beside it, those that the question means first. With profile auto (the default) they come when the question is about the user: it names the user, by id or preferred name, or has a word of the first or second person.

Request: query* (2000 characters at most), memory_type (semantic, episodic, procedural, preference, decision), tags (rows with all of them), source_class (stated, observed, imported, derived), profile (auto, true, false), read_scope (own_user, own_session, namespace), limit (1 to 100, default 20; of memories and of sections), explain, query_embedding {model, vector} (what the named model made of the query; the API fills it in).
Returns: memories [{as in memory.search}], profile [{as in profile.list, and value, score, legs; without score those that the question does not find}], about_user (whether sections were looked for), legs, scratchpad, explain, as in memory.search.
Errors: LM001, LM003, LM302, LM406.';
