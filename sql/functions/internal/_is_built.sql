create or replace function loom._is_built(p_type text, p_key text, p_agent text, p_session_id text) returns boolean
language sql immutable
as $$
  select p_type = 'profile' and p_key in ('structured_profile', 'consolidated_profile')
    and p_agent = '-' and p_session_id = '-'
$$;
comment on function loom._is_built(text, text, text, text) is
  'Whether a row is one that the worker builds, from the facts of all sessions of its user. No token bounded to a session reads it, whoever wrote it last: its versions say what was built before.';
