-- Loads the extension's library, without which only a superuser may name its setting below.
do $$
begin
  perform '[1]'::@vector@.vector;
end
$$;

create or replace function loom._search_indexed(
  p_caller loom.caller, p_plane text, p_model text, p_vector @vector@.vector, p_limit integer
) returns table (memory_id uuid, content_sha256 text, distance double precision)
language plpgsql stable security definer rows 200
set search_path = loom, pg_temp
set enable_seqscan = off
set enable_sort = off
set hnsw.iterative_scan = relaxed_order
as $$
declare
  v_dimension integer := @vector@.vector_dims(p_vector);
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
      order by embedding::%1$s(%2$s) operator(@vector@.<=>) $1::%1$s(%2$s)
      limit $6
    )
    select memory_id, content_sha256::text, distance from near order by distance, memory_id',
    v_type, v_dimension, p_model)
  using p_vector, p_caller.org, p_caller.namespace, p_plane, p_caller.users, p_limit;
end
$$;
comment on function loom._search_indexed(loom.caller, text, text, @vector@.vector, integer) is
  'The nearest vectors in reach by the model''s HNSW index, nearest first; approximate.';
alter function loom._search_indexed(loom.caller, text, text, @vector@.vector, integer) owner to loom_search;
