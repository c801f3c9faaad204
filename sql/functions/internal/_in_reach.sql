create or replace function loom._in_reach(p_row loom.memory, p_caller loom.caller) returns boolean
language sql immutable
as $$
  select (p_caller.users is null or p_row.user_id = any (p_caller.users))
    and (p_caller.sessions is null or p_row.session_id = any (p_caller.sessions))
    and (p_caller.bound_session is null
      or not loom._is_built(p_row.memory_type, p_row.memory_key, p_row.agent, p_row.session_id))
$$;
comment on function loom._in_reach(loom.memory, loom.caller) is 'Whether a read may show the row.';
