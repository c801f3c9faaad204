create or replace function loom._search_items(
  p_caller loom.caller, p_filter loom.search_filter, p_asked loom.search_query, p_limit integer
) returns jsonb
language plpgsql volatile
as $$
begin
  -- As in a list, it also ends where values come to a megabyte.
  return coalesce((
    select jsonb_agg(loom._memory_item(memory, p_caller.called_at)
      || jsonb_build_object('score', score, 'legs', legs) order by place) filter (where before < 1000000)
    from (
      select hit.*, row_number() over best as place,
        sum((hit.memory).value_length) over best - (hit.memory).value_length as before
      from loom._search_found(p_caller, p_filter, p_asked, p_limit) as hit
      window best as (order by score desc, (hit.memory).changed_at desc, (hit.memory).memory_id)
    ) as page), '[]');
end
$$;
comment on function loom._search_items(loom.caller, loom.search_filter, loom.search_query, integer) is
  'The rows that a search found, as they are answered.';
