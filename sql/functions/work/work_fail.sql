create or replace function loom.work_fail(
  p_org text, p_lease_id uuid, p_outcome text, p_error text, p_retry_seconds integer default null
) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_now timestamptz := loom._now();
  v_build loom.build := loom._lease_enter(v_org, p_lease_id, v_now);
  v_kind loom.work_kind;
  v_schema loom.profile_schema;
  v_state loom.user_state;
begin
  if not coalesce(p_outcome in ('failed', 'waiting', 'cut_off', 'released'), false)
    or not coalesce(p_error ~ E'^[A-Z][A-Z0-9_]{0,63}$', false) or p_retry_seconds < 0 then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_outcome',
        'reason', 'must be failed, waiting, cut_off or released, with an error that is a code')::text,
      hint = 'What a provider said is never stored: it may hold a user''s text.';
  end if;
  if v_build.org is null then
    return jsonb_build_object('found', false);
  end if;
  v_kind := loom._kind_of_work(v_build.kind);
  v_schema := loom._work_schema(v_kind, v_org, v_build.namespace);
  select * into v_state from loom.user_state
  where org = v_org and namespace = v_build.namespace and user_id = v_build.user_id;
  v_state := loom._state_of_kind(v_state, v_build.kind);
  v_build := loom._build_failed(v_build, v_state, v_kind, p_outcome, p_error, p_retry_seconds, v_now);
  v_build := loom._build_look(v_build, v_state, v_kind, v_schema, v_now);
  perform loom._build_store(v_build);
  perform loom._work_counted(v_build.kind, p_outcome, 1, v_now);
  return jsonb_build_object('found', true, 'attempts', v_build.attempts, 'due_at', loom._ts(v_build.due_at));
end
$$;
comment on function loom.work_fail(text, uuid, text, text, integer) is
'Ends a lease without a result. failed: the attempt stays counted and the user waits its backoff. waiting: the provider could not serve (a rate limit, an outage), so no attempt is used up and the user waits as long as the provider said, or the first backoff. cut_off: the answer was cut off at the output cap, and is not asked for again until the user''s memories, the row or the schema change or the wait for refusals is over. released: a worker that stops gives the user back.

Request: p_outcome, p_error (a code in capitals), p_retry_seconds (waiting: what the provider said).
Returns: found (false: the lease is over), attempts, due_at.
Errors: LM001.';
