create or replace function loom._time_page(p_items jsonb, p_more boolean, p_at text, p_id text) returns jsonb
language plpgsql immutable parallel safe
as $$
begin
  return jsonb_build_object('items', coalesce(p_items, '[]'), 'next_cursor',
    case when p_more then (p_items -> -1 ->> p_at) || '/' || (p_items -> -1 ->> p_id) end);
end
$$;
comment on function loom._time_page(jsonb, boolean, text, text) is
  'The answer of a list that is ordered by time and id: the page, and where more follows, time and id of its last item as the cursor that _time_cursor reads.';
