create or replace function loom._working_memory_rendered(
  p_caller loom.caller, p_keys text[], p_limit integer, p_format text, p_layered boolean
) returns loom.rendered
language plpgsql stable
set search_path = loom, pg_temp
as $$
declare
  v_rendered loom.rendered;
begin
  with candidate as (
    select distinct on (block.block_key) block.*, layer.distance, layer.name as layer
    from loom._working_memory_layers(p_caller, p_layered) as layer
    join loom.working_memory as block
      on block.org = p_caller.org and block.namespace = p_caller.namespace
      and block.agent = layer.agent and block.user_id = layer.user_id
      and block.session_id = layer.session_id and block.run_id = layer.run_id
    where block.deleted_at is null and (p_keys is null or block.block_key = any (p_keys))
    order by block.block_key, layer.distance
  ), placed as (
    select candidate.*, row_number() over (
      order by array_position(p_keys, block_key), distance, block_key) as place
    from candidate
  )
  select
    coalesce(string_agg(loom._block_rendered(block_key, content, p_format),
      E'\n' order by place) filter (where place <= p_limit), ''),
    coalesce(jsonb_agg(jsonb_build_object('block_key', block_key, 'layer', layer,
      'content_sha256', content_sha256, 'fill_ratio', loom._fill_ratio(value_length, char_limit))
      order by place) filter (where place <= p_limit), '[]'),
    coalesce(jsonb_agg(block_key order by place)
      filter (where place > p_limit and place <= p_limit + 100), '[]'),
    count(*) filter (where place > p_limit)
  into v_rendered.body, v_rendered.parts, v_rendered.omitted, v_rendered.omitted_count
  from placed;
  return v_rendered;
end
$$;
comment on function loom._working_memory_rendered(loom.caller, text[], integer, text, boolean) is
  'The blocks in reach as one text, with what it is made of and what was left out. Each key once, the narrowest layer winning; named keys in their order, else by layer, then key in byte order.';
