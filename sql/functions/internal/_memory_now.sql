create or replace function loom._memory_now(p_row loom.memory) returns timestamptz
language plpgsql volatile
as $$
begin
  return greatest(p_row.recorded_at + interval '1 microsecond', loom._now());
end
$$;
comment on function loom._memory_now(loom.memory) is
  'When the next version of a locked row is recorded: read after the lock, and always later than the version before.';
