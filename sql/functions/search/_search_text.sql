create or replace function loom._search_text(
  p_caller loom.caller, p_filter loom.search_filter, p_terms tsquery[], p_limit integer
) returns loom.search_hit[]
language plpgsql stable security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
  v_ids uuid[] := loom._search_candidates(v_org, loom._scope_query(p_caller, p_filter), p_terms, 1000);
  v_any tsquery := loom._any_term(p_terms);
begin
  return array(
  with candidate as materialized (
    -- Of rows that say the same, the oldest.
    select distinct on (agent, user_id, session_id, memory_type, content_sha256)
      memory_id, changed_at, said.words,
      array(select number from unnest(p_terms) with ordinality as term (words, number) where said.words @@ term.words) as has
    from unnest(v_ids) as listed (id)
    cross join lateral (
      select words from loom.memory_text where org = v_org and memory_id = listed.id limit 1
    ) as said
    cross join lateral (
      select * from loom.memory where org = v_org and memory_id = listed.id limit 1
    ) as present
    -- As loom._search_shows, spelled out, since it is asked a thousand times.
    where deleted_at is null and redacted_at is null and (expires_at is null or expires_at > p_caller.called_at)
      and namespace = p_caller.namespace
      and (p_caller.users is null or user_id = any (p_caller.users))
      and (p_caller.sessions is null or session_id = any (p_caller.sessions))
      and (memory_type = 'profile') = (p_filter.plane = 'profile')
      and (p_filter.types is null or memory_type = any (p_filter.types))
      and (p_filter.source_class is null or source_class = p_filter.source_class)
      and (p_filter.tags is null or tags @> p_filter.tags)
    order by agent, user_id, session_id, memory_type, content_sha256, created_at, memory_id
  ), weight as materialized (
    -- A word that few of them have says more than one that all have.
    select array_agg(ln((1 + (whole - having_it + 0.5) / (having_it + 0.5))::double precision) order by number) as worth
    from (
      select number, count(*) as whole, count(*) filter (where number = any (has)) as having_it
      from candidate cross join generate_subscripts(p_terms, 1) as number
      group by number
    ) as counted
  )
  select row(memory_id, row_number() over best, score)::loom.search_hit
  from (
    select memory_id, changed_at, (select sum(worth[number]) from unnest(has) as number) as score,
      ts_rank(words, v_any, 1) as rank
    from candidate cross join weight
  ) as scored
  window best as (order by score desc, rank desc, changed_at desc, memory_id)
  order by score desc, rank desc, changed_at desc, memory_id
  limit p_limit);
end
$$;
comment on function loom._search_text(loom.caller, loom.search_filter, tsquery[], integer) is
  'The leg of full text: rows in reach that have words of the query, best first. Distinct words count by how few of the candidates have them; then how often and where they stand (value, key, tags), then the newest. Deterministic.';
alter function loom._search_text(loom.caller, loom.search_filter, tsquery[], integer) owner to loom_search;
