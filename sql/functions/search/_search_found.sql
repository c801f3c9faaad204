create or replace function loom._search_found(
  p_caller loom.caller, p_filter loom.search_filter, p_asked loom.search_query, p_limit integer
) returns setof loom.found_memory
language plpgsql stable rows 20
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
  v_most integer := greatest(2 * p_limit, 50);
  v_text loom.search_hit[];
  v_vector loom.search_hit[];
begin
  if p_asked.terms <> '{}' then
    v_text := loom._search_text(p_caller, p_filter, p_asked.terms, v_most);
  end if;
  if p_asked.model is not null then
    v_vector := array(select hit from loom._search_vector(p_caller, p_filter, p_asked.model, p_asked.vector, v_most) as hit);
  end if;
  if v_vector is null then
    -- What one leg found says nothing twice, and stands in its order.
    return query
    select fact, (1.0 / (60 + place))::double precision, jsonb_build_object('text', place)
    from unnest(v_text)
    cross join lateral (
      select memory from loom.memory as memory where org = v_org and memory.memory_id = unnest.memory_id limit 1
    ) as row_now (fact)
    order by place
    limit p_limit;
    return;
  end if;
  return query
  with hit as (
    select 'text' as leg, memory_id, place from unnest(v_text)
    union all
    select 'vector', memory_id, place from unnest(v_vector)
  ), present as (
    select fact, leg, place from hit
    cross join lateral (
      select memory from loom.memory as memory where org = v_org and memory_id = hit.memory_id limit 1
    ) as row_now (fact)
  ), fused as (
    -- Each leg may have found another of rows that say the same: the oldest stands for them.
    select (array_agg(fact order by (fact).created_at, (fact).memory_id))[1] as fact,
      sum(1.0 / (60 + place) order by leg)::double precision as score,
      jsonb_object_agg(leg, place) as legs
    from present
    group by (fact).agent, (fact).user_id, (fact).session_id, (fact).memory_type, (fact).content_sha256
  )
  select fact, fused.score, fused.legs from fused
  order by fused.score desc, (fact).changed_at desc, (fact).memory_id
  limit p_limit;
end
$$;
comment on function loom._search_found(loom.caller, loom.search_filter, loom.search_query, integer) is
  'Rows that the legs of a search found, fused by reciprocal rank (k = 60), best first.';
