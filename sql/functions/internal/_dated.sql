create or replace function loom._dated(p_row loom.memory) returns timestamptz
language plpgsql immutable
as $$
begin
  return coalesce(p_row.valid_at, p_row.changed_at);
end
$$;
comment on function loom._dated(loom.memory) is
  'The date of a fact, by which a build reads and orders: when it became true, else when it last changed.';
