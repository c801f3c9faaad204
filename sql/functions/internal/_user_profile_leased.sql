create or replace function loom._user_profile_leased(p_org text, p_lease_id uuid, p_at timestamptz)
returns loom.user_profile_task
language plpgsql volatile
as $$
declare
  v_task loom.user_profile_task;
  v_caller loom.caller;
begin
  select * into v_task from loom.user_profile_task where org = p_org and lease_id = p_lease_id;
  if v_task.org is null then
    return null;
  end if;
  perform pg_advisory_xact_lock_shared(loom._user_lock_key(p_org, v_task.user_id));
  -- Only what is there: after an erasure no state row is made anew for a lease that is gone.
  perform from loom.user_profile_task where org = p_org and lease_id = p_lease_id;
  if not found then
    return null;
  end if;
  v_caller.org := p_org;
  v_caller.namespace := v_task.namespace;
  v_caller.user_id := v_task.user_id;
  v_caller.called_at := p_at;
  perform loom._state_lock(v_caller);
  -- Anew, behind the locks.
  select * into v_task from loom.user_profile_task
  where org = p_org and lease_id = p_lease_id and leased_until > loom._now()
  for update;
  return v_task;
end
$$;
comment on function loom._user_profile_leased(text, uuid, timestamptz) is
  'The task of a live lease, behind the locks of a writer of its user; null when the lease is over, whoever ended it.';
