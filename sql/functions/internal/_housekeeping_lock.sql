create or replace function loom._housekeeping_lock(p_row loom.memory) returns boolean
language plpgsql volatile
as $$
begin
  if not pg_try_advisory_xact_lock_shared(loom._user_lock_key(p_row.org, p_row.user_id)) then
    return false;
  end if;
  if p_row.user_id = '-' then
    perform from loom.agent_lock
    where org = p_row.org and namespace = p_row.namespace and agent = p_row.agent
    for update skip locked;
  else
    perform from loom.user_state
    where org = p_row.org and namespace = p_row.namespace and user_id = p_row.user_id
    for update skip locked;
  end if;
  return found;
end
$$;
comment on function loom._housekeeping_lock(loom.memory) is
  'Takes the locks of a writer of this row, without waiting: false when someone has them.';
alter function loom._housekeeping_lock(loom.memory) owner to loom_scheduler;
