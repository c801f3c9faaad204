create or replace function loom._blocks_in_reach(p_caller loom.caller, p_keys text[], p_layered boolean)
returns setof loom.placed_block
language sql stable rows 20
as $$
  select near.block_key::text, near.content, near.layer, near.content_sha256::text,
    loom._fill_ratio(near.value_length, near.char_limit)
  from (
    select distinct on (block.block_key) block.*, layer.distance, layer.name as layer
    -- Where a level is not set, the next wider layer is the same place and gives it its name.
    from (values
      (1, 'run', p_caller.run_id, p_caller.agent, p_caller.user_id, p_caller.session_id, p_caller.run_id),
      (2, 'session', p_caller.session_id, p_caller.agent, p_caller.user_id, p_caller.session_id, '-'),
      (3, 'user', p_caller.user_id, p_caller.agent, p_caller.user_id, '-', '-'),
      (4, 'agent', p_caller.agent, p_caller.agent, '-', '-', '-'),
      (5, 'namespace', p_caller.namespace, '-', '-', '-', '-')
    ) as layer (distance, name, level, agent, user_id, session_id, run_id)
    -- Layer after layer, each by the index, in a plan for all callers.
    cross join lateral (
      select block_key, content, content_sha256, value_length, char_limit from loom.working_memory
      where org = p_caller.org and namespace = p_caller.namespace and agent = layer.agent
        and user_id = layer.user_id and session_id = layer.session_id and run_id = layer.run_id
        and deleted_at is null and (p_keys is null or block_key = any (p_keys))
      offset 0
    ) as block
    where layer.level <> '-' and (p_layered
      or row(layer.agent, layer.user_id, layer.session_id, layer.run_id)
        = row(p_caller.agent, p_caller.user_id, p_caller.session_id, p_caller.run_id))
    order by block.block_key, layer.distance
  ) as near
  order by array_position(p_keys, near.block_key), near.distance, near.block_key
$$;
comment on function loom._blocks_in_reach(loom.caller, text[], boolean) is
  'The live blocks of the exact scope, or of all layers around it, in the order they render. Each key once, the narrowest layer winning; named keys in their order, else by layer, then key in byte order.';
