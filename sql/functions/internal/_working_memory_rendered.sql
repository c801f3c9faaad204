create or replace function loom._working_memory_rendered(
  p_caller loom.caller, p_keys text[], p_limit integer, p_format text, p_layered boolean
) returns loom.rendered
language plpgsql stable
as $$
declare
  v_rendered loom.rendered;
begin
  select
    coalesce(string_agg(loom._block_rendered(block_key, content, p_format),
      E'\n' order by place) filter (where place <= p_limit), ''),
    coalesce(jsonb_agg(jsonb_build_object('block_key', block_key, 'layer', layer,
      'content_sha256', content_sha256, 'fill_ratio', fill_ratio)
      order by place) filter (where place <= p_limit), '[]'),
    coalesce(jsonb_agg(block_key order by place)
      filter (where place > p_limit and place <= p_limit + 100), '[]'),
    count(*) filter (where place > p_limit)
  into v_rendered.body, v_rendered.parts, v_rendered.omitted, v_rendered.omitted_count
  from (
    select block.*, row_number() over () as place from loom._blocks_in_reach(p_caller, p_keys, p_layered) as block
  ) as placed;
  return v_rendered;
end
$$;
comment on function loom._working_memory_rendered(loom.caller, text[], integer, text, boolean) is
  'The blocks in reach as one text, with what it is made of and what was left out beyond p_limit.';
