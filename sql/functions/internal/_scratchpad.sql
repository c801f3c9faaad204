create or replace function loom._scratchpad(p_caller loom.caller) returns jsonb
language plpgsql stable
as $$
begin
  if p_caller.run_id = '-' and p_caller.session_id = '-' then
    return null;
  end if;
  return coalesce((
    select jsonb_agg(jsonb_build_object('block_key', block_key, 'layer', layer, 'content', content,
      'content_sha256', content_sha256) order by distance, block_key)
    from (
      select distinct on (block.block_key) block.block_key, layer.name as layer, layer.distance, content, content_sha256
      from unnest(loom._working_memory_layers(p_caller)) as layer
      join loom.working_memory as block
        on block.org = p_caller.org and block.namespace = p_caller.namespace
        and block.agent = layer.agent and block.user_id = layer.user_id
        and block.session_id = layer.session_id and block.run_id = layer.run_id
      where layer.name in ('run', 'session') and block.deleted_at is null
      order by block.block_key, layer.distance
      limit 100
    ) as narrowest), '[]');
end
$$;
comment on function loom._scratchpad(loom.caller) is
  'The blocks of the named run and session, each key once and the narrower winning; null when neither is named. Of exactly that identity, so within any read scope.';
