create or replace function loom._pack_plan(p_request jsonb) returns loom.pack_plan
language plpgsql immutable
as $$
declare
  v_query text := nullif(btrim(loom._bounded_text(p_request, 'query', 2000), E' \t\r\n'), '');
  v_token_budget integer := coalesce(loom._integer(p_request, 'token_budget', 100, 200000), 4000);
begin
  -- Most packs leave all of these as they are, and to look at each costs as much as a section does.
  if p_request ?| '{section_token_budgets,block_order,only_sections,session_block,labels,format}'
    or p_request ?| '{include_user_profile,include_looms,language}' then
    return loom._pack_chosen(p_request, v_query, v_token_budget);
  end if;
  return row(v_query, case when v_query is null then '{working_memory,profile,user_profile}'
    else '{working_memory,profile,user_profile,memories,decisions}' end,
    v_token_budget, null, 'xml', null, null, null, null)::loom.pack_plan;
end
$$;
comment on function loom._pack_plan(jsonb) is 'What a context.pack asks for, checked. LM001, LM406.';
