create or replace function loom._pack_sections() returns text[]
language plpgsql immutable parallel safe
as $$
begin
  return '{working_memory,profile,user_profile,looms,memories,decisions}';
end
$$;
comment on function loom._pack_sections() is
  'The sections of a pack in the order they stand in: first what changes least from call to call.';
