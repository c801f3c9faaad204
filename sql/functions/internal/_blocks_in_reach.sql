create or replace function loom._blocks_in_reach(p_caller loom.caller, p_keys text[], p_layered boolean)
returns setof loom.placed_block
language plpgsql stable rows 20
as $$
begin
  return query
  select near.block_key::text, near.content, near.layer, near.content_sha256::text,
    loom._fill_ratio(near.value_length, near.char_limit)
  from (
    select distinct on (block.block_key) block.*, layer.distance, layer.name as layer
    from unnest(loom._working_memory_layers(p_caller, p_layered)) as layer
    -- Layer after layer, each by the index, in a plan for all callers.
    cross join lateral (
      select block_key, content, content_sha256, value_length, char_limit from loom.working_memory
      where org = p_caller.org and namespace = p_caller.namespace and agent = layer.agent
        and user_id = layer.user_id and session_id = layer.session_id and run_id = layer.run_id
        and deleted_at is null and (p_keys is null or block_key = any (p_keys))
      offset 0
    ) as block
    order by block.block_key, layer.distance
  ) as near
  order by array_position(p_keys, near.block_key), near.distance, near.block_key;
end
$$;
comment on function loom._blocks_in_reach(loom.caller, text[], boolean) is
  'The live blocks of the exact scope, or of all layers around it, in the order they render. Each key once, the narrowest layer winning; named keys in their order, else by layer, then key in byte order.';
