create or replace function loom._ring() returns void
language plpgsql volatile
as $$
declare
  v_now timestamptz := loom._now();
begin
  perform from loom.worker_bell where armed_until > v_now;
  if found then
    perform pg_notify('loom_work', '');
  end if;
end
$$;
comment on function loom._ring() is
  'Wakes a worker that sleeps, when this commits. The bell is read without a lock: what a worker misses by that it finds at its next poll.';
