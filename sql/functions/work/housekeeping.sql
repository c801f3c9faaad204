create or replace function loom.housekeeping(p_most integer) returns integer
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_now timestamptz := loom._now();
  v_removed integer;
begin
  delete from loom.idempotency as kept
  using (
    select org, actor, op, key from loom.idempotency
    where expires_at <= v_now
    order by expires_at
    limit p_most
    for update skip locked
  ) as expired
  where kept.org = expired.org and kept.actor = expired.actor and kept.op = expired.op
    and kept.key = expired.key;
  get diagnostics v_removed = row_count;
  return v_removed;
end
$$;
comment on function loom.housekeeping(integer) is
'Removes at most so many stored answers whose day is over, across orgs, never waiting for a lock; the worker calls it until a batch comes back short.

Returns: how many were removed.';
alter function loom.housekeeping(integer) owner to loom_scheduler;
