create or replace function loom.blacklist_list(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('blacklist.list', p_request);
  v_namespace text := loom._blacklist_namespace(v_caller, p_request);
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 200), 50);
  v_after uuid := loom._uuid(p_request, 'cursor');
  v_items jsonb;
begin
  select jsonb_agg(loom._blacklist_json(page) order by page.blacklist_id) into v_items
  from (
    select * from loom.blacklist
    where org = v_caller.org and namespace = v_namespace and (v_after is null or blacklist_id > v_after)
    order by blacklist_id
    limit v_limit + 1
  ) as page;
  return loom._page(v_items, v_limit, 'blacklist_id');
end
$$;
comment on function loom.blacklist_list(jsonb) is
'The patterns of one scope.

Request: scope (namespace, the default, or org), limit (1 to 200, default 50), cursor.
Returns: items [{blacklist_id, org, scope, namespace, pattern, pattern_type, reason, created_at, created_by}], next_cursor.
Errors: LM001, LM003, LM302.';
