create or replace function loom._pack_found(p_caller loom.caller, p_asked loom.search_query, p_format text)
returns loom.pack_offer[]
language plpgsql stable
as $$
declare
  v_memories loom.pack_offer;
  v_decisions loom.pack_offer;
begin
  select array_agg(body) filter (where not is_decision), array_agg(item) filter (where not is_decision),
    array_agg(body) filter (where is_decision), array_agg(item) filter (where is_decision)
  into v_memories.bodies, v_memories.items, v_decisions.bodies, v_decisions.items
  from (
    select (memory).memory_type = 'decision' as is_decision,
      loom._row_rendered(memory, p_caller.agent, p_format,
        case (memory).memory_type when 'decision' then 'decision' else 'memory' end) as body,
      jsonb_build_object('memory_id', (memory).memory_id, 'memory_key', (memory).memory_key, 'agent', (memory).agent,
        'user_id', (memory).user_id, 'session_id', (memory).session_id, 'content_sha256', (memory).content_sha256,
        'score', score, 'legs', legs) as item
    from loom._search_found(p_caller, row('memory', null, null, null)::loom.search_filter, p_asked, 100)
    offset 0  -- each body is made once
  ) as told;
  return array[v_memories, v_decisions];
end
$$;
comment on function loom._pack_found(loom.caller, loom.search_query, text) is
  'The 100 best of what a query finds, best first: all but the decisions, and the decisions. One search for both.';
