create or replace function loom._block_key(p_request jsonb) returns text
language sql immutable parallel safe
as $$
  select coalesce(loom._identifier(p_request, 'block_key', 80), 'scratchpad')
$$;
comment on function loom._block_key(jsonb) is 'The block a request means: 1 to 80 characters, scratchpad when left out. LM406.';
