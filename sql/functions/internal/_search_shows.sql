create or replace function loom._search_shows(
  p_caller loom.caller, p_filter loom.search_filter, p_namespace text, p_agent text, p_user_id text, p_session_id text,
  p_key text, p_type text, p_source_class text, p_tags text[], p_deleted_at timestamptz, p_redacted_at timestamptz, p_expires_at timestamptz
) returns boolean
language plpgsql immutable
as $$
begin
  -- Takes columns, not the row: that would fetch a large value for each.
  return p_deleted_at is null and p_redacted_at is null and (p_expires_at is null or p_expires_at > p_caller.called_at)
    and p_namespace = p_caller.namespace
    and (p_caller.users is null or p_user_id = any (p_caller.users))
    and (p_caller.sessions is null or p_session_id = any (p_caller.sessions))
    and (p_caller.bound_session is null or not loom._is_built(p_type, p_key, p_agent, p_session_id))
    and loom._plane_of(p_type) = p_filter.plane
    and (p_filter.types is null or p_type = any (p_filter.types))
    and (p_filter.source_class is null or p_source_class = p_filter.source_class)
    and (p_filter.tags is null or p_tags @> p_filter.tags);
end
$$;
comment on function loom._search_shows(loom.caller, loom.search_filter, text, text, text, text, text, text, text, text[], timestamptz, timestamptz, timestamptz) is
  'Whether a search may show a row: current, in reach, of the plane and as the filter says.';
