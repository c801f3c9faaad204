create or replace function loom.worker_gone(p_worker_id uuid) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
begin
  delete from loom.worker where worker_id = p_worker_id;
end
$$;
comment on function loom.worker_gone(uuid) is 'A worker that stops in order takes its heartbeat row with it.';
