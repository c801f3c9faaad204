create or replace function loom._sections(p_caller loom.caller, p_labels text[], p_own_agent boolean)
returns setof loom.memory
language plpgsql volatile rows 20
as $$
begin
  -- What is current as loom._is_current has it, spelled out, since it is asked of every row.
  if p_caller.users is null then
    return query select * from loom.memory as section
    where org = p_caller.org and namespace = p_caller.namespace and memory_type = 'profile'
      and (p_caller.sessions is null or session_id = any (p_caller.sessions))
      and (p_caller.bound_session is null or not loom._is_built(memory_type, memory_key, agent, session_id))
      and (p_labels is null or memory_key = any (p_labels))
      and (not p_own_agent or agent = p_caller.agent)
      and deleted_at is null and redacted_at is null and (expires_at is null or expires_at > p_caller.called_at)
    order by array_position(p_labels, memory_key), memory_key, agent, user_id, session_id
    limit 1000;
    return;
  end if;
  return query select * from loom._sections_of_user(p_caller, p_labels, p_own_agent);
end
$$;
comment on function loom._sections(loom.caller, text[], boolean) is
  'The current profile sections in reach, in the order they render: as named, else by label, agent, user and session in byte order. At most 1,000.';
