create or replace function loom._pack_found(p_caller loom.caller, p_plan loom.pack_plan, p_name text)
returns loom.pack_item[]
language plpgsql stable
set search_path = loom, pg_temp
as $$
declare
  v_found loom.found_memory;
  v_row loom.memory;
  v_items loom.pack_item[] := '{}';
begin
  foreach v_found in array p_plan.found loop
    v_row := v_found.memory;
    continue when (v_row.memory_type = 'decision') <> (p_name = 'decisions');
    v_items := v_items || row(
      loom._row_rendered(v_row, p_caller.agent, p_plan.format, case p_name when 'decisions' then 'decision' else 'memory' end),
      jsonb_build_object('memory_id', v_row.memory_id, 'memory_key', v_row.memory_key, 'agent', v_row.agent,
        'user_id', v_row.user_id, 'session_id', v_row.session_id, 'content_sha256', v_row.content_sha256,
        'score', v_found.score, 'legs', v_found.legs))::loom.pack_item;
  end loop;
  return v_items;
end
$$;
comment on function loom._pack_found(loom.caller, loom.pack_plan, text) is
  'Of what the query found the decisions, or all but these, best first.';
