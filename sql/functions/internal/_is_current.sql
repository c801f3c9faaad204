create or replace function loom._is_current(p_row loom.memory, p_at timestamptz) returns boolean
language sql immutable
as $$
  select p_row.deleted_at is null and p_row.redacted_at is null
    and (p_row.expires_at is null or p_row.expires_at > p_at)
$$;
comment on function loom._is_current(loom.memory, timestamptz) is
  'What a current row is, for every read: not deleted, not redacted, not past its expiry.';
