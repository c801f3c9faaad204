create or replace function loom._page(p_items jsonb, p_limit integer, p_position text) returns jsonb
language plpgsql immutable parallel safe
as $$
begin
  if coalesce(jsonb_array_length(p_items), 0) <= p_limit then
    return jsonb_build_object('items', coalesce(p_items, '[]'), 'next_cursor', null);
  end if;
  return jsonb_build_object('items', p_items - p_limit,
    'next_cursor', p_items -> (p_limit - 1) ->> p_position);
end
$$;
comment on function loom._page(jsonb, integer, text) is
  'The answer of a list, from one item more than its limit: the page, and as cursor the position of its last item.';
