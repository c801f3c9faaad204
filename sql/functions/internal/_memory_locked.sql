create or replace function loom._memory_locked(p_row loom.memory, p_at timestamptz) returns boolean
language sql immutable
as $$
  select p_row.lock_mode is not null and (p_row.lock_until is null or p_row.lock_until > p_at)
$$;
comment on function loom._memory_locked(loom.memory, timestamptz) is 'Whether a lock on the row is in force.';
