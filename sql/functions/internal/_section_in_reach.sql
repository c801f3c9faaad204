create or replace function loom._section_in_reach(
  p_row loom.memory, p_caller loom.caller, p_labels text[], p_own_agent boolean
) returns boolean
language sql immutable
as $$
  select (p_caller.sessions is null or p_row.session_id = any (p_caller.sessions))
    and (p_caller.bound_session is null
      or not loom._is_built(p_row.memory_type, p_row.memory_key, p_row.agent, p_row.session_id))
    and (p_labels is null or p_row.memory_key = any (p_labels))
    and (not p_own_agent or p_row.agent = p_caller.agent)
    -- What is current as loom._is_current has it, spelled out, so that a partial index answers.
    and p_row.deleted_at is null and p_row.redacted_at is null
    and (p_row.expires_at is null or p_row.expires_at > p_caller.called_at)
$$;
comment on function loom._section_in_reach(loom.memory, loom.caller, text[], boolean) is
  'Whether a profile section of a user in reach is current, of a session in reach, and one of those asked for.';
