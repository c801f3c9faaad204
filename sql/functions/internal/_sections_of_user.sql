create or replace function loom._sections_of_user(p_caller loom.caller, p_labels text[], p_own_agent boolean)
returns setof loom.memory
language sql stable rows 20
as $$
  -- What is current as loom._is_current has it, spelled out, since it is asked of every row.
  select * from loom.memory as section
  where org = p_caller.org and namespace = p_caller.namespace and user_id in (p_caller.user_id, '-')
    and memory_type = 'profile'
    and (p_caller.sessions is null or session_id = any (p_caller.sessions))
    and (p_caller.bound_session is null or not loom._is_built(memory_type, memory_key, agent, session_id))
    and (p_labels is null or memory_key = any (p_labels))
    and (not p_own_agent or agent = p_caller.agent)
    and deleted_at is null and redacted_at is null and (expires_at is null or expires_at > p_caller.called_at)
  order by array_position(p_labels, memory_key), memory_key, agent, user_id, session_id
  limit 1000
$$;
comment on function loom._sections_of_user(loom.caller, text[], boolean) is
  'Of the current profile sections those of the caller''s user and of -.';
