create or replace function loom.memory_list(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('memory.list', p_request);
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 200), 50);
  v_items jsonb;
  v_more boolean;
begin
  -- A page also ends where its values come to a megabyte.
  select jsonb_agg(loom._memory_item(listed, v_caller.called_at) order by place)
      filter (where place <= v_limit and before < 1000000),
    bool_or(place > v_limit or before >= 1000000)
  into v_items, v_more
  from (
    select listed, row_number() over newest as place,
      sum(coalesce(listed.value_length, 0)) over newest - coalesce(listed.value_length, 0) as before
    from loom._memory_page(v_caller, loom._memory_filter(p_request), v_limit + 1) as listed
    window newest as (order by listed.created_at desc, listed.memory_id desc)
  ) as page;
  return loom._time_page(v_items, v_more, 'created_at', 'memory_id');
end
$$;
comment on function loom.memory_list(jsonb) is
'The rows in reach, newest first. A page holds at most limit rows, and ends earlier where its values come to a megabyte.

Request: memory_type, tags (rows with all of them), key_prefix, source_class (stated, observed, imported, derived), include_deleted (tombstones, redacted and expired rows too), read_scope (own_user, own_session, namespace), limit (1 to 200, default 50), cursor.
Returns: items [{the row receipt without created and noop, value, memory_type, tags, confidence, source_class, source_trace, valid_at, valid_to, expires_at, pinned, sensitivity, lock, reinforcement_count, changed_at, created_at, created_by, written_by, updated_by, deleted_at, redacted_at}], next_cursor.
Errors: LM001, LM003, LM302, LM406.';
