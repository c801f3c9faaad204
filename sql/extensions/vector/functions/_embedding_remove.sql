create or replace function loom._embedding_remove(p_model text, p_limit integer) returns bigint
language plpgsql volatile
as $$
declare
  v_removed bigint;
begin
  delete from loom.embedding
  where (org, memory_id, model) in (
    select org, memory_id, model from loom.embedding where model = p_model limit p_limit);
  get diagnostics v_removed = row_count;
  return v_removed;
end
$$;
comment on function loom._embedding_remove(text, integer) is 'Removes at most so many vectors of a model, in all orgs; how many.';
