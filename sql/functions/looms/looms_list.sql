create or replace function loom.looms_list(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('looms.list', p_request);
  v_page integer := loom._page_number(p_request);
  v_size integer := coalesce(loom._integer(p_request, 'pageSize', 1, 200), 50);
  v_before bigint := (v_page - 1)::bigint * v_size;
  v_org text := v_caller.org;
  v_namespace text;
  v_items jsonb;
  v_total bigint;
begin
  v_caller := loom._loom_place(v_caller, p_request);
  v_namespace := v_caller.namespace;
  select count(*) into v_total from loom.loom where org = v_org and namespace = v_namespace;
  select jsonb_agg(loom._loom_json(listed) order by listed.created_at desc, listed.loom_id desc) into v_items
  from (
    select * from loom.loom where org = v_org and namespace = v_namespace
    order by created_at desc, loom_id desc
    limit v_size offset v_before
  ) as listed;
  return loom._numbered_page(v_items, v_page, v_size, v_total);
end
$$;
comment on function loom.looms_list(jsonb) is
'The looms of a namespace, newest first. A page past the end is empty.

Request: namespaceId (or the namespace by name, or the token''s), page (1 to 1000000, default 1), pageSize (1 to 200, default 50).
Returns: items [{a loom as looms.get has it}], page, pageSize, total.
Errors: LM001, LM003, LM302, LM406.';
