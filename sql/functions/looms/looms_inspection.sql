create or replace function loom.looms_inspection(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('looms.inspection', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_org text := v_caller.org;
  v_loom loom.loom := loom._loom_in_reach(v_caller, v_loom_id);
  v_threads jsonb;
begin
  v_caller := loom._loom_reach(v_caller, p_request);
  select jsonb_agg(loom._loom_thread_json(newest) order by newest.created_at desc, newest.thread_id desc) into v_threads
  from (
    select * from loom.loom_thread
    where org = v_org and loom_id = v_loom_id and deleted_at is null
      and (v_caller.users is null or user_id = any (v_caller.users))
    order by created_at desc, thread_id desc
    limit 10
  ) as newest;
  return jsonb_build_object('loom', loom._loom_json(v_loom), 'threadCounts', loom._loom_thread_counts(v_caller, v_loom),
    'newestThreads', coalesce(v_threads, '[]'), 'pendingActivity', loom._loom_pending(v_caller, v_loom),
    'nightWeaving', loom._loom_weaving_state(v_loom, v_caller.called_at),
    'weavings', loom._loom_weavings(v_caller, v_loom, 5));
end
$$;
comment on function loom.looms_inspection(jsonb) is
'What stands in a loom and what happens to it: threads and pending turns of the named user and of -, when it is next woven at night and why not yet, and what its last five weavings changed.

Request: loomId*, readScope (own_user, own_session, namespace).
Returns: loom, threadCounts [{kind, agent, live, deleted}], newestThreads (ten), pendingActivity (turns, oldestAt, newestAt, newest), nightWeaving (due, dueAt, waitsFor, attempts), weavings.
Errors: LM001, LM003, LM103, LM302, LM406.';
