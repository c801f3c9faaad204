create or replace function loom._search_ranked(
  p_caller loom.caller, p_filter loom.search_filter, p_terms tsquery[], p_query tsquery, p_ids uuid[],
  p_most integer, p_limit integer
) returns loom.search_hit[]
language plpgsql stable security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_org text := p_caller.org;
  v_any tsquery := loom._any_term(p_terms);
begin
  return (
  with matched as materialized (
    -- The words alone inside, since the planner would else take an index of the org for them, and read all of a
    -- large one; the query narrows them to the org already.
    (select org, memory_id, words from loom.memory_text where words @@ p_query limit p_most + 1)
    union all
    select said.* from unnest(p_ids) as listed (id)
    cross join lateral (
      select org, memory_id, words from loom.memory_text where org = v_org and memory_id = listed.id limit 1
    ) as said
  ), candidate as materialized (
    -- Of rows that say the same, the oldest.
    select distinct on (agent, user_id, session_id, memory_type, content_sha256)
      matched.memory_id, changed_at, words, ts_rank(words, v_any, 1) as rank
    from matched
    cross join lateral (
      select * from loom.memory where org = v_org and memory_id = matched.memory_id limit 1
    ) as present
    -- As loom._search_shows, spelled out, since it is asked a thousand times.
    where matched.org = v_org
      and deleted_at is null and redacted_at is null and (expires_at is null or expires_at > p_caller.called_at)
      and namespace = p_caller.namespace
      and (p_caller.users is null or user_id = any (p_caller.users))
      and (p_caller.sessions is null or session_id = any (p_caller.sessions))
      and (p_caller.bound_session is null or not loom._is_built(memory_type, memory_key, agent, session_id))
      and (memory_type = 'profile') = (p_filter.plane = 'profile')
      and (p_filter.types is null or memory_type = any (p_filter.types))
      and (p_filter.source_class is null or source_class = p_filter.source_class)
      and (p_filter.tags is null or tags @> p_filter.tags)
    order by agent, user_id, session_id, memory_type, content_sha256, created_at, present.memory_id
  ), word as (
    select memory_id, changed_at, rank, number, count(*) over (partition by number) as having_it
    from candidate cross join unnest(p_terms) with ordinality as term (query, number)
    where words @@ term.query
  ), scored as (
    -- A word that few of them have says more than one that all have.
    select memory_id, changed_at, rank,
      sum(ln(1 + ((select count(*) from candidate) - having_it + 0.5::double precision) / (having_it + 0.5::double precision))
        order by number) as score
    from word
    group by memory_id, changed_at, rank
  )
  select case when p_query is null or (select count(*) from matched) <= p_most then array(
    select row(memory_id, row_number() over best, score)::loom.search_hit from scored
    window best as (order by score desc, rank desc, changed_at desc, memory_id)
    order by score desc, rank desc, changed_at desc, memory_id
    limit p_limit) end);
end
$$;
comment on function loom._search_ranked(loom.caller, loom.search_filter, tsquery[], tsquery, uuid[], integer, integer) is
  'Of the rows that a query with its scope matches, or else of the rows named, those in reach, best first. Null where the query matches more than so many.';
alter function loom._search_ranked(loom.caller, loom.search_filter, tsquery[], tsquery, uuid[], integer, integer)
  owner to loom_search;
