create or replace function loom._pack_working_memory(p_caller loom.caller, p_plan loom.pack_plan)
returns loom.pack_offer
language plpgsql stable
as $$
declare
  v_offer loom.pack_offer;
begin
  select array_agg(loom._block_rendered(block_key, content, p_plan.format)),
    array_agg(jsonb_build_object('block_key', block_key, 'layer', layer, 'content_sha256', content_sha256,
      'fill_ratio', fill_ratio))
  into v_offer
  from loom._blocks_in_reach(p_caller, null, true)
  -- Where it was is told of one project, not of every one that an agent ever worked on.
  where p_plan.session_block is null or block_key = p_plan.session_block or not block_key ^@ 'session:';
  return v_offer;
end
$$;
comment on function loom._pack_working_memory(loom.caller, loom.pack_plan) is
  'The layered blocks of working memory, without the session blocks of other projects where one is named.';
