create or replace function loom._embedding_restart(p_model loom.embedding_model) returns loom.embedding_model
language plpgsql volatile
as $$
begin
  update loom.embedding_model
  set cursor_org = '', cursor_memory_id = '00000000-0000-0000-0000-000000000000', swept_at = null, listed = 0,
    total = (select count(*) from loom.memory_text)
  where model = p_model.model
  returning * into p_model;
  return p_model;
end
$$;
comment on function loom._embedding_restart(loom.embedding_model) is 'Lets the listing of rows that lack a vector begin again at the first.';
