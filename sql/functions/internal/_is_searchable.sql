create or replace function loom._is_searchable(p_row loom.memory) returns boolean
language sql immutable
as $$
  select p_row.deleted_at is null and p_row.redacted_at is null
$$;
comment on function loom._is_searchable(loom.memory) is
  'Whether a row has text to be found by. A row past its expiry has, until it is removed: a search looks at the time itself.';
