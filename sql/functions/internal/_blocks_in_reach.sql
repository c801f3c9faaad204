create or replace function loom._blocks_in_reach(p_caller loom.caller, p_keys text[], p_layered boolean)
returns setof loom.placed_block
language sql stable rows 20
as $$
  select near.block_key::text, near.content, ('{run,session,user,agent,namespace}'::text[])[near.distance],
    near.content_sha256::text, loom._fill_ratio(near.value_length, near.char_limit)
  from (
    select distinct on (block_key) block_key, content, content_sha256, value_length, char_limit,
      case when run_id <> '-' then 1 when session_id <> '-' then 2 when user_id <> '-' then 3 when agent <> '-' then 4
        else 5 end as distance
    from loom.working_memory
    where org = p_caller.org and namespace = p_caller.namespace
      and agent in (p_caller.agent, '-') and user_id in (p_caller.user_id, '-')
      and session_id in (p_caller.session_id, '-') and run_id in (p_caller.run_id, '-')
      -- A block of one level is of the caller in every wider one.
      and (run_id = '-' or session_id = p_caller.session_id)
      and (run_id = '-' and session_id = '-' or user_id = p_caller.user_id)
      and (run_id = '-' and session_id = '-' and user_id = '-' or agent = p_caller.agent)
      and (p_layered or (agent, user_id, session_id, run_id)
        = (p_caller.agent, p_caller.user_id, p_caller.session_id, p_caller.run_id))
      and deleted_at is null and (p_keys is null or block_key = any (p_keys))
    order by block_key, distance
  ) as near
  order by case when p_keys is not null then array_position(p_keys, near.block_key) end, near.distance, near.block_key
$$;
comment on function loom._blocks_in_reach(loom.caller, text[], boolean) is
  'The live blocks of the exact scope, or of all layers around it, in the order they render. Each key once, the narrowest layer winning; named keys in their order, else by layer, then key in byte order.';
