create or replace function loom._state_lock(p_caller loom.caller) returns bigint
language plpgsql volatile
as $$
declare
  v_epoch bigint;
  v_next_change_at timestamptz;
  v_now timestamptz;
begin
  if p_caller.user_id = '-' then
    insert into loom.agent_lock (org, namespace, agent)
    values (p_caller.org, p_caller.namespace, p_caller.agent)
    on conflict (org, namespace, agent) do update set rev = agent_lock.rev + 1;
    return 0;
  end if;
  -- Written, not only locked: else a rival under REPEATABLE READ would not see that it came too late.
  insert into loom.user_state (org, namespace, user_id, created_at)
  values (p_caller.org, p_caller.namespace, p_caller.user_id, p_caller.called_at)
  on conflict (org, namespace, user_id) do update set rev = user_state.rev + 1
  returning epoch, next_change_at into v_epoch, v_next_change_at;
  if v_next_change_at is not null then
    v_now := loom._now();
    if v_next_change_at <= v_now then
      perform loom._settle(p_caller.org, p_caller.namespace, p_caller.user_id, v_now);
    end if;
  end if;
  return v_epoch;
end
$$;
comment on function loom._state_lock(loom.caller) is
  'Takes the row that orders all writers of a user''s memory rows in a namespace (for user -: of an agent); settles first what time has done to the user''s sources; returns the user''s erasure epoch.';
