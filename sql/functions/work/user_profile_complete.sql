create or replace function loom.user_profile_complete(p_org text, p_lease_id uuid, p_delta jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_now timestamptz := loom._now();
  v_task loom.user_profile_task := loom._user_profile_leased(v_org, p_lease_id, v_now);
  v_caller loom.caller;
  v_delta jsonb := '{}';
  v_answer jsonb;
begin
  if v_task.org is null then
    return '{"outcome": "lost"}';
  end if;
  v_caller.org := v_org;
  v_caller.namespace := v_task.namespace;
  v_caller.user_id := v_task.user_id;
  v_caller.actor := 'worker';
  v_caller.called_at := v_now;
  if p_delta is null or v_task.source = 'composite' then
    v_delta := loom._user_profile_rules(array(
      select message from jsonb_array_elements_text(v_task.signals) with ordinality as told (message, place) order by place));
  end if;
  if p_delta is not null then
    v_delta := loom._first_nonempty(loom._user_profile_delta(p_delta), v_delta);
  end if;
  v_answer := loom._user_profile_change(v_caller,
    loom._user_profile_lock(v_caller, row(v_task.scope_tenant, v_task.scope_user, v_task.scope_thread,
      v_task.scope_kind)::loom.profile_scope, '{}'), v_delta, 'update');
  delete from loom.user_profile_task where org = v_org and task_id = v_task.task_id;
  v_answer := jsonb_build_object('outcome', case when (v_answer ->> 'changed')::boolean then 'written' else 'unchanged' end,
    'version', v_answer -> 'version', 'version_text', v_answer -> 'version_text');
  perform loom._work_counted('user_profile', v_answer ->> 'outcome', 1, v_now);
  return v_answer;
end
$$;
comment on function loom.user_profile_complete(text, uuid, jsonb) is
'Ends a lease: what the model told of the signals is merged into the profile, in one transaction.

Request: p_delta (as of user_profile.apply; null: the model told nothing, and the rules judge in its place; with source composite they also fill in what the model left out).
Returns: outcome (written; unchanged: it said so already; lost: the lease is over), version, version_text.
Errors: LM001, LM406 the profile would be over a limit, LM407 blacklisted.';
