create or replace function loom.housekeeping_looms(p_most integer) returns integer
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_oldest timestamptz := loom._now() - interval '14 days';
  v_removed integer;
  v_total integer := 0;
begin
  delete from loom.loom_thread as gone using (
    select org, thread_id from loom.loom_thread where deleted_at <= v_oldest
    order by deleted_at limit p_most for update skip locked
  ) as old where gone.org = old.org and gone.thread_id = old.thread_id;
  get diagnostics v_removed = row_count;
  v_total := v_total + v_removed;
  delete from loom.loom_turn as gone using (
    select org, turn_id from loom.loom_turn where woven_by is not null and at <= v_oldest
    order by at limit p_most for update skip locked
  ) as old where gone.org = old.org and gone.turn_id = old.turn_id;
  get diagnostics v_removed = row_count;
  v_total := v_total + v_removed;
  delete from loom.loom_weaving as gone using (
    select org, weaving_id from loom.loom_weaving where ended_at <= v_oldest - interval '76 days'
    order by ended_at limit p_most for update skip locked
  ) as old where gone.org = old.org and gone.weaving_id = old.weaving_id;
  get diagnostics v_removed = row_count;
  return v_total + v_removed;
end
$$;
comment on function loom.housekeeping_looms(integer) is
'Removes what looms need no longer, at most so much of each, across orgs, never waiting for a lock: tombstones of threads with their versions, and turns that are consolidated, after 14 days; weavings after 90. The worker calls it until it answers 0.

Returns: how many rows were removed.';
alter function loom.housekeeping_looms(integer) owner to loom_scheduler;
