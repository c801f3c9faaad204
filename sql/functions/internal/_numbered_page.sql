create or replace function loom._numbered_page(p_items jsonb, p_page integer, p_size integer, p_total bigint) returns jsonb
language plpgsql immutable parallel safe
as $$
begin
  return jsonb_build_object('items', coalesce(p_items, '[]'), 'page', p_page, 'pageSize', p_size, 'total', p_total);
end
$$;
comment on function loom._numbered_page(jsonb, integer, integer, bigint) is
  'The answer of a list that is paged by number: the items, which page of which size it is, and how many there are in all.';
