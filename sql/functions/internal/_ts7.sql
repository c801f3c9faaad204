create or replace function loom._ts7(p_at timestamptz) returns text
language plpgsql immutable strict parallel safe
as $$
begin
  return left(loom._ts(p_at), -1) || '0Z';
end
$$;
comment on function loom._ts7(timestamptz) is
  'A time as looms show it: that of loom._ts with seven fractional digits, the last one always 0.';
