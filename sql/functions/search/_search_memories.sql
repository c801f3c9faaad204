create or replace function loom._search_memories(
  p_caller loom.caller, p_query text, p_query_embedding jsonb, p_types text[], p_limit integer
) returns setof loom.found_memory
language plpgsql stable rows 20
set search_path = loom, pg_temp
as $$
declare
  v_filter loom.search_filter := row('memory', p_types, null, null)::loom.search_filter;
begin
  return query
    select * from loom._search_found(p_caller, v_filter, loom._search_asked(p_caller, p_query, p_query_embedding), p_limit);
end
$$;
comment on function loom._search_memories(loom.caller, text, jsonb, text[], integer) is
  'Facts in the caller''s reach that a query finds, of the given types (null: any), best first; for what packs a context. No profile sections. LM001 for a vector of another size than the active model''s.';
