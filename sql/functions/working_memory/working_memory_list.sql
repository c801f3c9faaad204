create or replace function loom.working_memory_list(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('working_memory.list', p_request);
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 200), 50);
  v_after text := coalesce(loom._text(p_request, 'cursor'), '');
  v_deleted boolean := coalesce(loom._boolean(p_request, 'include_deleted'), false);
  v_items jsonb;
begin
  select jsonb_agg(loom._working_memory_item(page) order by page.block_key) into v_items
  from (
    select * from loom.working_memory
    where org = v_caller.org and namespace = v_caller.namespace and agent = v_caller.agent
      and user_id = v_caller.user_id and session_id = v_caller.session_id and run_id = v_caller.run_id
      and block_key > v_after and (v_deleted or deleted_at is null)
    order by block_key
    limit v_limit + 1
  ) as page;
  return loom._page(v_items, v_limit, 'block_key');
end
$$;
comment on function loom.working_memory_list(jsonb) is
'The blocks of exactly this identity and run, by key in byte order, without their text.

Request: limit (1 to 200, default 50), cursor, include_deleted (tombstones too).
Returns: items [{org, namespace, agent, user_id, session_id, run_id, block_key, version, version_text, content_sha256, value_length, char_limit, fill_ratio, description, read_only, created_at, created_by, updated_at, updated_by, deleted_at}], next_cursor.
Errors: LM001, LM003, LM302, LM406.';
