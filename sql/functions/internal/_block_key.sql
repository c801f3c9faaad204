create or replace function loom._block_key(p_request jsonb) returns text
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
begin
  return coalesce(loom._identifier(p_request, 'block_key', 80), 'scratchpad');
end
$$;
comment on function loom._block_key(jsonb) is 'The block a request means: 1 to 80 characters, scratchpad when left out. LM406.';
