create or replace function loom.memory_history(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('memory.history', p_request);
  v_row loom.memory := loom._memory_named(v_caller, p_request, true);
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 200), 50);
  v_before bigint := loom._version_cursor(p_request);
  v_items jsonb;
  v_more boolean;
begin
  select jsonb_agg(loom._version_json(v_row, listed) order by place)
      filter (where place <= v_limit and before < 1000000),
    bool_or(place > v_limit or before >= 1000000)
  into v_items, v_more
  from (
    select listed, row_number() over newest as place,
      sum(coalesce(listed.value_length, 0)) over newest - coalesce(listed.value_length, 0) as before
    from loom._version_page(v_row, v_before, v_limit + 1) as listed
    window newest as (order by listed.version desc)
  ) as page;
  return jsonb_build_object('found', v_row.memory_id is not null, 'memory_id', v_row.memory_id,
    'items', coalesce(v_items, '[]'),
    'next_cursor', case when v_more then v_items -> -1 ->> 'version_text' end);
end
$$;
comment on function loom.memory_history(jsonb) is
'The versions of one row, newest first, tombstones and redactions included. By key it is the row of exactly this identity, whatever is left of it, else the nearest current one in reach.

Request: memory_key or memory_id (one of them*), read_scope, limit (1 to 200, default 50), cursor.
Returns: found, memory_id, items [{version, version_text, change, value, content_sha256, value_length, char_limit, memory_type, tags, confidence, source_class, source_trace, valid_at, valid_to, expires_at, pinned, sensitivity, lock, recorded_at, changed_at, written_by, actor, redacted_at}], next_cursor.
Errors: LM001, LM003, LM302, LM406.';
