create or replace function loom._memory_guard(
  p_row loom.memory, p_at timestamptz, p_if_match text, p_delete boolean default false
) returns boolean
language plpgsql immutable
as $$
declare
  v_live boolean := p_row.version is not null and loom._is_current(p_row, p_at);
begin
  if v_live and loom._memory_locked(p_row, p_at) and (p_delete or p_row.lock_mode = 'read_only') then
    raise exception using errcode = 'LM205', message = 'The row is locked.',
      detail = jsonb_build_object('reason', p_row.lock_reason, 'until', loom._ts(p_row.lock_until))::text,
      hint = 'Wait until the lock ends, or ask an admin to unlock it.';
  end if;
  if p_if_match is not null and (not v_live or p_if_match <> p_row.content_sha256) then
    raise exception using errcode = 'LM201', message = 'Another write came first.',
      detail = jsonb_build_object('current_sha256', case when v_live then p_row.content_sha256 end,
        'current_version', case when v_live then p_row.version end)::text,
      hint = 'Read the current value, apply the change to it, and send it with its hash.';
  end if;
  return true;
end
$$;
comment on function loom._memory_guard(loom.memory, timestamptz, text, boolean) is
  'Refuses a write of a locked row (LM205) and one that was made from another value than the current one (LM201).';
