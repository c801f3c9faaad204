create or replace function loom._lease_enter(p_org text, p_lease_id uuid, p_at timestamptz) returns loom.build
language plpgsql volatile
as $$
declare
  v_caller loom.caller;
  v_build loom.build;
begin
  v_caller.org := p_org;
  v_caller.called_at := p_at;
  select namespace, user_id into v_caller.namespace, v_caller.user_id from loom.build
  where org = p_org and lease_id = p_lease_id;
  if v_caller.user_id is null then
    return null;
  end if;
  perform pg_advisory_xact_lock_shared(loom._user_lock_key(p_org, v_caller.user_id));
  -- Only what is there: after an erasure no state row is made anew for a lease that is gone.
  perform from loom.build where org = p_org and lease_id = p_lease_id;
  if not found then
    return null;
  end if;
  perform loom._state_lock(v_caller);
  -- What a writer settles is bounded; but no model is to read what has expired.
  loop
    perform from loom.user_state
    where org = p_org and namespace = v_caller.namespace and user_id = v_caller.user_id and next_change_at <= p_at;
    exit when not found;
    perform loom._settle(p_org, v_caller.namespace, v_caller.user_id, p_at);
  end loop;
  -- Anew, behind the locks.
  select * into v_build from loom.build
  where org = p_org and lease_id = p_lease_id and leased_until > loom._now();
  return v_build;
end
$$;
comment on function loom._lease_enter(text, uuid, timestamptz) is
  'The build of a live lease, behind the locks of a writer of its user, whose sources are settled; null when the lease is over, whoever ended it.';
