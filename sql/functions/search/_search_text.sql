create or replace function loom._search_text(
  p_caller loom.caller, p_filter loom.search_filter, p_terms tsquery[], p_limit integer
) returns setof loom.search_hit
language plpgsql stable security definer rows 50
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
  v_ids uuid[] := loom._search_candidates(v_org, loom._scope_query(p_caller, p_filter), p_terms, 2000);
  v_any tsquery := p_terms[1];
  v_term tsquery;
begin
  foreach v_term in array p_terms[2:] loop
    v_any := v_any || v_term;
  end loop;
  return query
  with candidate as materialized (
    -- Of rows that say the same, the oldest.
    select distinct on (agent, user_id, session_id, memory_type, content_sha256)
      present.memory_id, words, changed_at
    from (select distinct id from unnest(v_ids) as id) as listed
    cross join lateral (
      select * from loom.memory where org = v_org and memory_id = listed.id limit 1
    ) as present
    cross join lateral (
      select words from loom.memory_text where org = v_org and memory_id = listed.id limit 1
    ) as said
    where loom._search_shows(p_caller, p_filter, namespace, user_id, session_id, memory_type, source_class, tags,
      deleted_at, redacted_at, expires_at)
    order by agent, user_id, session_id, memory_type, content_sha256, created_at, present.memory_id
  ), hit as (
    select memory_id, number from candidate
    join unnest(p_terms) with ordinality as term (words, number) on candidate.words @@ term.words
  ), weight as (
    -- A word that few of them have says more than one that all have.
    select number, ln(1 + ((select count(*) from candidate) - count(*) + 0.5) / (count(*) + 0.5))::double precision as worth
    from hit group by number
  ), scored as (
    select memory_id, sum(worth order by number) as score from hit join weight using (number) group by memory_id
  )
  select memory_id, (row_number() over best)::integer, score
  from scored join candidate using (memory_id)
  window best as (order by score desc, ts_rank(words, v_any, 1) desc, changed_at desc, memory_id)
  order by 2
  limit p_limit;
end
$$;
comment on function loom._search_text(loom.caller, loom.search_filter, tsquery[], integer) is
  'The leg of full text: rows in reach that have words of the query, best first. Distinct words count by how few of the candidates have them; then how often and where they stand (value, key, tags), then the newest. Deterministic.';
alter function loom._search_text(loom.caller, loom.search_filter, tsquery[], integer) owner to loom_search;
