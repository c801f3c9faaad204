create or replace function loom.token_list(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('token.list', p_request);
  v_org text := v_caller.org;
  v_bound text := v_caller.bound_namespace;
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 200), 50);
  v_after uuid := loom._uuid(p_request, 'cursor');
  v_items jsonb;
begin
  select jsonb_agg(loom._token_json(page) order by page.token_id) into v_items
  from (
    select * from loom.token
    where org = v_org and (v_after is null or token_id > v_after)
      and (v_bound is null or namespace = v_bound)
    order by org, token_id
    limit v_limit + 1
  ) as page;
  return loom._page(v_items, v_limit, 'token_id');
end
$$;
comment on function loom.token_list(jsonb) is
'The org''s tokens, without their secrets: those of the caller''s own namespace where it is bound to one.

Request: limit (1 to 200, default 50), cursor.
Returns: items [{token_id, org, role, namespace, read_user_id, session_id, label, created_at, created_by, expires_at, revoked_at, last_used_at}], next_cursor.
Errors: LM001, LM302.';
