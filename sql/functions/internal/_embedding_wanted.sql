create or replace function loom._embedding_wanted() returns boolean
language plpgsql stable
as $$
begin
  return exists (select from loom.embedding_model where state in ('building', 'active'));
end
$$;
comment on function loom._embedding_wanted() is 'Whether some model is in use, so that texts are to have vectors.';
