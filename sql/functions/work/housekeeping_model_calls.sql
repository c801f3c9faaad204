create or replace function loom.housekeeping_model_calls(p_most integer) returns integer
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_oldest timestamptz := loom._now() - interval '90 days';
  v_removed integer;
begin
  delete from loom.model_usage as gone using (
    select org, at, usage_id from loom.model_usage where at <= v_oldest
    order by at limit p_most for update skip locked
  ) as old where gone.org = old.org and gone.at = old.at and gone.usage_id = old.usage_id;
  get diagnostics v_removed = row_count;
  return v_removed;
end
$$;
comment on function loom.housekeeping_model_calls(integer) is
'Removes at most so many records of single calls of models that are older than 90 days, across orgs, never waiting for a lock; their sums by day stay. The worker calls it until a batch comes back short.

Returns: how many were removed.';
alter function loom.housekeeping_model_calls(integer) owner to loom_scheduler;
