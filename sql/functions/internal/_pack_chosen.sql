create or replace function loom._pack_chosen(p_request jsonb, p_query text, p_token_budget integer)
returns loom.pack_plan
language plpgsql immutable
as $$
declare
  v_plan loom.pack_plan;
begin
  v_plan.query := p_query;
  v_plan.names := loom._pack_order(p_request, p_query is not null);
  if not coalesce(loom._boolean(p_request, 'include_user_profile'), true) then
    v_plan.names := array_remove(v_plan.names, 'user_profile');
  end if;
  v_plan.loom_ids := loom._pack_loom_ids(p_request);
  if v_plan.loom_ids is null then
    v_plan.names := array_remove(v_plan.names, 'looms');
  end if;
  v_plan.token_budget := p_token_budget;
  v_plan.section_token_budgets := loom._pack_budgets(p_request);
  v_plan.format := coalesce(loom._choice(p_request, 'format', '{xml,markdown}'), 'xml');
  v_plan.labels := loom._labels(p_request);
  v_plan.session_block := loom._identifier(p_request, 'session_block', 80);
  v_plan.language := loom._bounded_text(p_request, 'language', 35);
  return v_plan;
end
$$;
comment on function loom._pack_chosen(jsonb, text, integer) is
  'What a context.pack asks for that chooses among sections, or says how they are to be. LM001, LM406.';
