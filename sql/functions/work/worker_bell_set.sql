create or replace function loom.worker_bell_set(p_armed boolean) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
begin
  update loom.worker_bell set armed = p_armed where armed <> p_armed;
end
$$;
comment on function loom.worker_bell_set(boolean) is
'Arms the bell, so that a write that makes work due now notifies the channel loom_work; or disarms it. A worker arms it before it sleeps and then looks once more, since a writer may have read the bell just before; and disarms it when it is awake.';
