create or replace function loom._state_try(p_org text, p_namespace text, p_user_id text, p_at timestamptz)
returns loom.user_state
language plpgsql volatile
as $$
declare
  v_state loom.user_state;
begin
  if not pg_try_advisory_xact_lock_shared(loom._user_lock_key(p_org, p_user_id)) then
    return null;
  end if;
  perform from loom.user_state
  where org = p_org and namespace = p_namespace and user_id = p_user_id
  for update skip locked;
  if not found then
    return null;
  end if;
  -- Written, not only locked, as by every writer.
  update loom.user_state set rev = rev + 1
  where org = p_org and namespace = p_namespace and user_id = p_user_id
  returning * into v_state;
  if v_state.next_change_at <= p_at then
    perform loom._settle(p_org, p_namespace, p_user_id, p_at);
    select * into v_state from loom.user_state
    where org = p_org and namespace = p_namespace and user_id = p_user_id;
  end if;
  return v_state;
end
$$;
comment on function loom._state_try(text, text, text, timestamptz) is
  'Takes the locks of a writer of the user without waiting, and settles its sources; null when someone else has them.';
