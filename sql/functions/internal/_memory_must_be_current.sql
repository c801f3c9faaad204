create or replace function loom._memory_must_be_current(p_row loom.memory, p_at timestamptz) returns void
language plpgsql immutable
as $$
begin
  if p_row.version is not null and loom._is_current(p_row, p_at) then
    return;
  end if;
  raise exception using errcode = 'LM102', message = 'There is no such memory.',
    hint = 'Write it with memory.set first.';
end
$$;
comment on function loom._memory_must_be_current(loom.memory, timestamptz) is 'LM102 unless the row is current.';
