create or replace function loom.looms_weaving_list(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('looms.weaving_list', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_page integer := loom._page_number(p_request);
  v_size integer := coalesce(loom._integer(p_request, 'pageSize', 1, 200), 50);
  v_before bigint := (v_page - 1)::bigint * v_size;
  v_org text := v_caller.org;
  v_items jsonb;
  v_total bigint;
begin
  perform loom._loom_in_reach(v_caller, v_loom_id);
  select count(*) into v_total from loom.loom_weaving where org = v_org and loom_id = v_loom_id;
  select jsonb_agg(loom._weaving_json(listed) order by listed.requested_at desc, listed.weaving_id desc) into v_items
  from (
    select * from loom.loom_weaving where org = v_org and loom_id = v_loom_id
    order by requested_at desc, weaving_id desc
    limit v_size offset v_before
  ) as listed;
  return loom._numbered_page(v_items, v_page, v_size, v_total);
end
$$;
comment on function loom.looms_weaving_list(jsonb) is
'The weavings of a loom, newest first, without what they changed. A page past the end is empty.

Request: loomId*, page (1 to 1000000, default 1), pageSize (1 to 200, default 50).
Returns: items [{a weaving without its changes}], page, pageSize, total.
Errors: LM001, LM003, LM103, LM302, LM406.';
