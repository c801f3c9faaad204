create or replace function loom._blocks_in_reach(p_caller loom.caller, p_keys text[], p_layered boolean)
returns setof loom.placed_block
language plpgsql stable rows 20
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  select near.block_key::text, near.content, near.layer, near.content_sha256::text,
    loom._fill_ratio(near.value_length, near.char_limit)
  from (
    select distinct on (block.block_key) block.block_key, block.content, block.content_sha256,
      block.value_length, block.char_limit, layer.distance, layer.name as layer
    from unnest(loom._working_memory_layers(p_caller, p_layered)) as layer
    join loom.working_memory as block
      on block.org = p_caller.org and block.namespace = p_caller.namespace
      and block.agent = layer.agent and block.user_id = layer.user_id
      and block.session_id = layer.session_id and block.run_id = layer.run_id
    where block.deleted_at is null and (p_keys is null or block.block_key = any (p_keys))
    order by block.block_key, layer.distance
  ) as near
  order by array_position(p_keys, near.block_key), near.distance, near.block_key;
end
$$;
comment on function loom._blocks_in_reach(loom.caller, text[], boolean) is
  'The live blocks of the exact scope, or of all layers around it, in the order they render. Each key once, the narrowest layer winning; named keys in their order, else by layer, then key in byte order.';
