create or replace function loom._pack_plan(p_caller loom.caller, p_request jsonb) returns loom.pack_plan
language plpgsql stable
set search_path = loom, pg_temp
as $$
declare
  v_plan loom.pack_plan;
  v_query text := nullif(btrim(loom._bounded_text(p_request, 'query', 2000), E' \t\r\n'), '');
  v_embedding jsonb := loom._query_embedding(p_request);
  v_asked loom.search_query;
begin
  v_plan.names := loom._pack_order(p_request, v_query is not null);
  if not coalesce(loom._boolean(p_request, 'include_user_profile'), true) then
    v_plan.names := array_remove(v_plan.names, 'user_profile');
  end if;
  v_plan.loom_ids := loom._pack_loom_ids(p_request);
  if v_plan.loom_ids is null then
    v_plan.names := array_remove(v_plan.names, 'looms');
  end if;
  v_plan.token_budget := coalesce(loom._integer(p_request, 'token_budget', 100, 200000), 4000);
  v_plan.section_token_budgets := loom._pack_budgets(p_request);
  v_plan.format := coalesce(loom._choice(p_request, 'format', '{xml,markdown}'), 'xml');
  v_plan.labels := loom._labels(p_request);
  v_plan.session_block := loom._identifier(p_request, 'session_block', 80);
  v_plan.language := loom._bounded_text(p_request, 'language', 35);
  if v_plan.names && '{memories,decisions}' then
    v_asked := loom._search_asked(p_caller, v_query, v_embedding);
    v_plan.legs := v_asked.legs;
    -- One search for both sections.
    v_plan.found := array(
      select hit from loom._search_found(p_caller, row('memory', null, null, null)::loom.search_filter, v_asked, 100) as hit);
  end if;
  return v_plan;
end
$$;
comment on function loom._pack_plan(loom.caller, jsonb) is
  'What a context.pack asks for, checked, with the 100 best of what its query finds. LM001, LM406.';
