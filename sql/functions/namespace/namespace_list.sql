create or replace function loom.namespace_list(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('namespace.list', p_request);
  v_org text := v_caller.org;
  v_bound text := v_caller.bound_namespace;
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 200), 50);
  v_after text := loom._text(p_request, 'cursor');
  v_items jsonb;
begin
  select jsonb_agg(loom._namespace_json(page) order by page.name) into v_items
  from (
    select * from loom.namespace
    where org = v_org and (v_after is null or name > v_after) and (v_bound is null or name = v_bound)
    order by org, name
    limit v_limit + 1
  ) as page;
  return loom._page(v_items, v_limit, 'namespace');
end
$$;
comment on function loom.namespace_list(jsonb) is
'The namespaces of the org, by name: only its own for a token that is bound to one.

Request: limit (1 to 200, default 50), cursor.
Returns: items [{org, org_id, namespace, namespace_id, night_weaving, quiet_minutes, weaver_model, text_search_language, created_at, updated_at}], next_cursor.
Errors: LM001, LM302.';
