create or replace function loom._search_text(
  p_caller loom.caller, p_filter loom.search_filter, p_terms tsquery[], p_limit integer
) returns loom.search_hit[]
language plpgsql stable security definer
set search_path = loom, pg_temp
as $$
declare
  v_scope tsquery := loom._scope_query(p_caller, p_filter);
  v_hits loom.search_hit[];
begin
  v_hits := loom._search_ranked(p_caller, p_filter, p_terms, v_scope && loom._any_term(p_terms), null, 1000, p_limit);
  if v_hits is null then
    v_hits := loom._search_ranked(p_caller, p_filter, p_terms, null,
      loom._search_crowded(p_caller.org, v_scope, p_terms, 1000), 1000, p_limit);
  end if;
  return v_hits;
end
$$;
comment on function loom._search_text(loom.caller, loom.search_filter, tsquery[], integer) is
  'The leg of full text: rows in reach that have words of the query, best first. Distinct words count by how few of the candidates have them; then how often and where they stand (value, key, tags), then the newest. Deterministic.';
alter function loom._search_text(loom.caller, loom.search_filter, tsquery[], integer) owner to loom_search;
