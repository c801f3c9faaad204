create or replace function loom.user_profile_claim(p_org text) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_now timestamptz := loom._now();
  v_lease_id uuid := gen_random_uuid();
  v_until timestamptz := v_now + interval '300 seconds';
  v_task loom.user_profile_task;
begin
  if not loom._model_calls(v_org) then
    return null;
  end if;
  for v_task in
    -- Newest wins, so the signals of a profile are taken in their order: what stands behind another is not
    -- looked at, or many of one profile would hide those of all others.
    select * from loom.user_profile_task as task where org = v_org and due_at <= v_now and not exists (
      select from loom.user_profile_task as earlier
      where earlier.org = v_org and earlier.user_id = task.user_id and earlier.namespace = task.namespace
        and earlier.scope_tenant = task.scope_tenant and earlier.scope_user = task.scope_user
        and earlier.scope_thread = task.scope_thread and earlier.scope_kind = task.scope_kind
        and earlier.place < task.place and earlier.due_at is not null)
    order by due_at, place limit 200
  loop
    continue when not pg_try_advisory_xact_lock_shared(loom._user_lock_key(v_org, v_task.user_id));
    -- Should the worker die, nobody is to try sooner than after a failure.
    update loom.user_profile_task
    set lease_id = v_lease_id, leased_until = v_until, attempts = attempts + 1,
      due_at = greatest(v_until, v_now + loom._retry_after(attempts + 1))
    where org = v_org and task_id = v_task.task_id and due_at <= v_now  -- unless another has it by now
    returning * into v_task;
    if found then
      perform loom._work_counted('user_profile', 'claimed', 1, v_now);
      return jsonb_build_object('lease_id', v_lease_id, 'namespace', v_task.namespace, 'source', v_task.source,
        'signals', v_task.signals, 'attempt', v_task.attempts, 'seconds_left', 300);
    end if;
  end loop;
  return null;
end
$$;
comment on function loom.user_profile_claim(text) is
'Leases to a worker the signals of one profile that have waited longest, for five minutes. The attempt is counted here, in the claim''s own commit, so that a worker that dies has used one.

Returns: null when nothing is to be had now (or the org''s model calls are off, or its tokens of the day used); else lease_id, namespace, source (llm, composite), signals (the user''s own words, in their order), attempt, seconds_left.
Errors: LM001.';
