create or replace function loom.worker_bell_set(p_armed boolean) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_now timestamptz := loom._now();
  -- Longer than any poll, at each of which a worker that sleeps arms it anew.
  v_until timestamptz := case when p_armed then v_now + interval '2 hours' end;
  v_soon timestamptz := v_now + interval '90 minutes';
begin
  update loom.worker_bell set armed_until = v_until
  where case when p_armed then armed_until is null or armed_until < v_soon else armed_until is not null end;
end
$$;
comment on function loom.worker_bell_set(boolean) is
'Arms the bell, so that a write that makes work due now notifies the channel loom_work; or disarms it; by itself it falls silent after two hours. A worker arms it before it sleeps and then looks once more, since a writer may have read the bell just before; and disarms it when it is awake.';
