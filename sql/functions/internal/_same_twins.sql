create or replace function loom._same_twins(p_old loom.memory, p_new loom.memory) returns boolean
language plpgsql immutable
as $$
begin
  return p_old.memory_type = p_new.memory_type and p_old.content_sha256 = p_new.content_sha256;
end
$$;
comment on function loom._same_twins(loom.memory, loom.memory) is
  'Whether two states of a row have the same twins; not true (false or null) where one of them has no value.';
