create or replace function loom._query_embedding(p_request jsonb) returns jsonb
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> 'query_embedding') <> 'null' then loom._query_embedding_given(p_request) end
$$;
comment on function loom._query_embedding(jsonb) is 'The vector that comes with a query, and its model; null when left out. LM001 for another shape.';
