create or replace function loom._memory_nearest(p_caller loom.caller, p_key text, p_exact loom.memory)
returns loom.memory
language plpgsql volatile
as $$
declare
  v_row loom.memory;
begin
  if p_caller.users is null then
    select * into v_row from loom.memory as candidate
    where org = p_caller.org and namespace = p_caller.namespace and memory_key = p_key
      and (p_caller.sessions is null or session_id = any (p_caller.sessions))
      and (p_caller.bound_session is null or not loom._is_built(memory_type, memory_key, agent, session_id))
      and loom._is_current(candidate, p_caller.called_at)
    order by
      case user_id when p_caller.user_id then 1 when '-' then 2 else 3 end,
      case session_id when p_caller.session_id then 1 when '-' then 2 else 3 end,
      case agent when p_caller.agent then 1 when '-' then 2 else 3 end,
      user_id, session_id, agent
    limit 1;
  else
    -- User after user, the named one first: a look-up each, however many users have the key.
    select nearest.* into v_row from unnest(p_caller.users) with ordinality as reach (who, place)
    cross join lateral (
      select * from loom.memory as candidate
      where org = p_caller.org and namespace = p_caller.namespace and memory_key = p_key and user_id = reach.who
        and (p_caller.sessions is null or session_id = any (p_caller.sessions))
        and (p_caller.bound_session is null or not loom._is_built(memory_type, memory_key, agent, session_id))
        and loom._is_current(candidate, p_caller.called_at)
      order by
        case session_id when p_caller.session_id then 1 when '-' then 2 else 3 end,
        case agent when p_caller.agent then 1 when '-' then 2 else 3 end,
        session_id, agent
      limit 1
    ) as nearest
    order by reach.place
    limit 1;
  end if;
  return case when v_row.memory_id is null then p_exact else v_row end;
end
$$;
comment on function loom._memory_nearest(loom.caller, text, loom.memory) is
  'The nearest current row of a key in reach: named user before -, named session, then -, then others, own agent, then -, then others, ties in byte order. The exact row, which is not current, where there is none.';
