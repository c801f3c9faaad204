create or replace function loom._ts(p_at timestamptz) returns text
language sql stable strict parallel safe
as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
comment on function loom._ts(timestamptz) is
  'A time as the wire shows it: UTC, ISO 8601, microseconds, Z. The only way a time becomes text, because every other cast follows the session''s TimeZone and DateStyle.';
