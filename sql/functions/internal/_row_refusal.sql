create or replace function loom._row_refusal(p_row loom.memory, p_at timestamptz) returns text
language plpgsql immutable
as $$
begin
  -- A pin and a lock hold a redacted row too.
  return case
    when p_row.version is null then null
    when p_row.pinned then 'PINNED_CONFLICT'
    when p_row.lock_mode = 'read_only' and loom._memory_locked(p_row, p_at) then 'LOCKED'
    when p_row.sensitivity = 'high' and loom._is_current(p_row, p_at) then 'HIGH_SENSITIVITY'
  end;
end
$$;
comment on function loom._row_refusal(loom.memory, timestamptz) is
  'Why the worker may not write over a row: pinned, locked against changes, or labelled high; null when it may.';
