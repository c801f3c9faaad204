create or replace function loom._embedding_current(p_org text, p_memory_id uuid, p_model text, p_sha256 text)
returns boolean
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return exists (
    select from loom.embedding
    where org = p_org and memory_id = p_memory_id and model = p_model and content_sha256 = p_sha256);
end
$$;
comment on function loom._embedding_current(text, uuid, text, text) is 'Whether a text has its vector of a model.';
