create or replace function loom.user_profile_fail(
  p_org text, p_lease_id uuid, p_outcome text, p_error text, p_retry_seconds integer default null
) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_now timestamptz := loom._now();
  v_task loom.user_profile_task := loom._user_profile_leased(v_org, p_lease_id, v_now);
begin
  if not coalesce(p_outcome in ('failed', 'waiting', 'refused', 'released'), false)
    or not coalesce(p_error ~ E'^[A-Z][A-Z0-9_]{0,63}$', false) or p_retry_seconds < 0 then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_outcome',
        'reason', 'must be failed, waiting, refused or released, with an error that is a code')::text,
      hint = 'What a provider said is never stored: it may hold a user''s text.';
  end if;
  if v_task.org is null then
    return '{"found": false}';
  end if;
  v_task.attempts := v_task.attempts - case when p_outcome in ('waiting', 'released') then 1 else 0 end;
  v_task.due_at := case p_outcome
    when 'failed' then v_now + loom._retry_after(v_task.attempts)
    when 'waiting' then v_now + make_interval(secs => coalesce(p_retry_seconds, 60))
    when 'released' then v_now end;
  update loom.user_profile_task
  set lease_id = null, leased_until = null, attempts = v_task.attempts, due_at = v_task.due_at, last_error = p_error,
    -- What is not tried again is not kept either, but for the mark that operators find.
    signals = case p_outcome when 'refused' then '[]' else signals end
  where org = v_org and task_id = v_task.task_id;
  perform loom._work_counted('user_profile', p_outcome, 1, v_now);
  return jsonb_build_object('found', true, 'attempts', v_task.attempts, 'due_at', loom._ts(v_task.due_at));
end
$$;
comment on function loom.user_profile_fail(text, uuid, text, text, integer) is
'Ends a lease without a result. failed: the attempt stays counted, and the signals wait. waiting: the provider could not serve, so no attempt is used up. refused: what the model told cannot be stored (the profile is full, say); the signals are not tried again and their words are dropped, and those behind them go on. released: a worker that stops gives them back.

Request: p_outcome, p_error (a code in capitals), p_retry_seconds (waiting: what the provider said).
Returns: found (false: the lease is over), attempts, due_at.
Errors: LM001.';
