create or replace function loom._memory_again(p_row loom.memory, p_version loom.memory_version, p_at timestamptz)
returns loom.memory
language plpgsql volatile
as $$
declare
  v_row loom.memory := loom._memory_as_of(p_row, p_version);
begin
  v_row.version := p_row.version;
  v_row.pinned := p_row.pinned;
  v_row.lock_mode := p_row.lock_mode;
  v_row.lock_reason := p_row.lock_reason;
  v_row.lock_until := p_row.lock_until;
  v_row.expires_at := case
    when p_row.version is not null and loom._is_current(p_row, p_at) then p_row.expires_at
    when p_version.expires_at > p_at then p_version.expires_at
  end;
  v_row.recorded_at := p_at;
  v_row.changed_at := p_at;
  v_row.deleted_at := null;
  return v_row;
end
$$;
comment on function loom._memory_again(loom.memory, loom.memory_version, timestamptz) is
  'The row with an older version''s content and what that version said about it; pin and lock are those of now, and so is the expiry of a current row; another gets the version''s, where that lies ahead.';
