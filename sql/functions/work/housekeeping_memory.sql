create or replace function loom.housekeeping_memory(p_most integer) returns integer
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := loom._now();
  v_oldest timestamptz := v_now - interval '14 days';
  v_due loom.memory;
  v_ids uuid[];
begin
  for v_due in
    (select * from loom.memory where deleted_at <= v_oldest order by deleted_at limit 1000)
    union all
    (select * from loom.memory where expires_at <= v_now order by expires_at limit 1000)
  loop
    if loom._housekeeping_lock(v_due) then
      -- First what their end means for the sources; a row of which that is not told yet stays till then.
      perform loom._settle(v_due.org, v_due.namespace, v_due.user_id, v_now);
      v_ids := array(
        select memory_id from loom.memory
        where org = v_due.org and user_id = v_due.user_id and namespace = v_due.namespace and version > 0
          and (v_due.user_id <> '-' or agent = v_due.agent)
          and (deleted_at <= v_oldest or (expires_at <= v_now and changes_at is null))
        limit p_most);
      delete from loom.memory_source where org = v_due.org and memory_id = any (v_ids);
      delete from loom.memory_version where org = v_due.org and memory_id = any (v_ids);
      delete from loom.memory where org = v_due.org and memory_id = any (v_ids);
      return cardinality(v_ids);
    end if;
  end loop;
  return 0;
end
$$;
comment on function loom.housekeeping_memory(integer) is
'Removes at most so many tombstones older than 14 days and expired rows, with their history, of one user whose rows no one is writing just now. The worker calls it, a commit each time, until it answers 0.

Returns: how many rows were removed.';
alter function loom.housekeeping_memory(integer) owner to loom_scheduler;
