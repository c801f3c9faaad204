create or replace function loom.embedding_progress() returns jsonb
language plpgsql stable security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  return loom._embedding_models();
end
$$;
comment on function loom.embedding_progress() is
'The models that make vectors and how far each is: rows there were when its listing began (total), how many of them were looked at (listed, swept: all), how many texts wait (due, leased ones too) and how many were given up; of these two no more than 10,000 are counted.

Returns: vectors (false: the database has no pgvector), models [{model, dimension, state (building, active, retired), total, listed, swept, due, given_up, created_at, activated_at, retired_at}].';
alter function loom.embedding_progress() owner to loom_scheduler;
