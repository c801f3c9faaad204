create or replace function loom._now() returns timestamptz
language plpgsql volatile
as $$
begin
  return clock_timestamp();
end
$$;
comment on function loom._now() is
  'The time of the call, read once per call and carried in loom.caller. Tests replace this function to freeze time.';
