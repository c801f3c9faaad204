create or replace function loom.looms_thread_list(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('looms.thread_list', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_agent text := loom._identifier(p_request, 'agent');
  v_deleted boolean := coalesce(loom._boolean(p_request, 'includeDeleted'), false);
  v_page integer := loom._page_number(p_request);
  v_size integer := coalesce(loom._integer(p_request, 'pageSize', 1, 200), 50);
  v_before bigint := (v_page - 1)::bigint * v_size;
  v_org text := v_caller.org;
  v_items jsonb;
  v_total bigint;
begin
  perform loom._loom_in_reach(v_caller, v_loom_id);
  v_caller := loom._loom_reach(v_caller, p_request);
  select count(*) into v_total from loom.loom_thread
  where org = v_org and loom_id = v_loom_id and (v_caller.users is null or user_id = any (v_caller.users))
    and (v_deleted or deleted_at is null) and (v_agent is null or agent = v_agent);
  select jsonb_agg(loom._loom_thread_json(listed) order by listed.created_at desc, listed.thread_id desc) into v_items
  from (
    select * from loom.loom_thread
    where org = v_org and loom_id = v_loom_id and (v_caller.users is null or user_id = any (v_caller.users))
      and (v_deleted or deleted_at is null) and (v_agent is null or agent = v_agent)
    order by created_at desc, thread_id desc
    limit v_size offset v_before
  ) as listed;
  return loom._numbered_page(v_items, v_page, v_size, v_total);
end
$$;
comment on function loom.looms_thread_list(jsonb) is
'The threads of a loom, newest first: those of the named user and of -. A page past the end is empty.

Request: loomId*, agent (only its own; - for the shared ones), includeDeleted (false by default), readScope (own_user, own_session, namespace), page (1 to 1000000, default 1), pageSize (1 to 200, default 50).
Returns: items [{id, loomId, kind (shared, own), agent, userId, text, tags, wovenFrom, version, dateCreated, dateUpdated, deletedAt}], page, pageSize, total.
Errors: LM001, LM003, LM103, LM302, LM406.';
