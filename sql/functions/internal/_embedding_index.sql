create or replace function loom._embedding_index(p_model text) returns name
language plpgsql immutable strict parallel safe
as $$
begin
  return 'embedding_hnsw_' || left(md5(p_model), 16);
end
$$;
comment on function loom._embedding_index(text) is
  'The name of a model''s HNSW index on loom.embedding, whether there is one or not.';
