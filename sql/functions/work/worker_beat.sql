create or replace function loom.worker_beat(p_worker_id uuid) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_now timestamptz := loom._now();
  v_gone timestamptz := v_now - interval '1 day';
begin
  if p_worker_id is null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_worker_id', 'reason', 'is required')::text,
      hint = 'A worker makes itself a uuid when it starts.';
  end if;
  insert into loom.worker (worker_id, started_at, last_seen_at) values (p_worker_id, v_now, v_now)
  on conflict (worker_id) do update set last_seen_at = excluded.last_seen_at;
  -- A worker that was killed leaves its row: one that was silent for a day is history.
  delete from loom.worker where last_seen_at < v_gone;
end
$$;
comment on function loom.worker_beat(uuid) is
'A worker''s heartbeat: /v1/ready shows who is alive. Removes the rows of workers silent for a day.

Errors: LM001 no worker id.';
