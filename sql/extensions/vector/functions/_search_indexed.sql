-- Loads the extension's library, without which only a superuser may name its setting below.
do $$
begin
  perform '[1]'::@vector@.vector;
end
$$;

create or replace function loom._search_indexed(
  p_caller loom.caller, p_filter loom.search_filter, p_model text, p_vector @vector@.vector, p_limit integer
) returns table (memory_id uuid, content_sha256 text, distance double precision)
language plpgsql stable security definer rows 200
set search_path = loom, pg_temp
set enable_seqscan = off
set enable_sort = off
set hnsw.iterative_scan = relaxed_order
as $$
declare
  v_dimension integer := @vector@.vector_dims(p_vector);
  -- The scan passes over what the filter leaves out: those that are near may all be of another type or session.
  v_any boolean := p_caller.sessions is null and p_filter.types is null and p_filter.tags is null
    and p_filter.source_class is null;
  -- As the index is written (loom embeddings index): a vector of more than 2,000 numbers only in halves.
  v_type text := case when v_dimension > 2000 then '@vector@.halfvec' else '@vector@.vector' end;
begin
  -- No sort, since the planner takes what is asked for for a row or two, and would read and sort all of the org.
  -- The model outright, else it could not tell that the index holds it. What else is asked for is not
  -- in the index: the scan goes on until it has enough.
  return query execute format(
    'with near as materialized (
      select memory_id, content_sha256,
        embedding::%1$s(%2$s) operator(@vector@.<=>) $1::%1$s(%2$s) as distance
      from loom.embedding
      where model = %3$L and org = $2 and namespace || '''' = $3 and plane || '''' = $4
        and ($5 is null or user_id || '''' = any ($5))
        and ($7 or (
          select loom._search_shows($8, $9, namespace, agent, user_id, session_id, memory_key, memory_type,
            source_class, tags, deleted_at, redacted_at, expires_at)
          from loom.memory where org = $2 and memory_id = embedding.memory_id limit 1))
      order by embedding::%1$s(%2$s) operator(@vector@.<=>) $1::%1$s(%2$s)
      limit $6
    )
    select memory_id, content_sha256::text, distance from near order by distance, memory_id',
    v_type, v_dimension, p_model)
  using p_vector, p_caller.org, p_caller.namespace, p_filter.plane, p_caller.users, p_limit, v_any, p_caller, p_filter;
end
$$;
comment on function loom._search_indexed(loom.caller, loom.search_filter, text, @vector@.vector, integer) is
  'The nearest vectors in reach by the model''s HNSW index, nearest first; approximate.';
alter function loom._search_indexed(loom.caller, loom.search_filter, text, @vector@.vector, integer) owner to loom_search;
