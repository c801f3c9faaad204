create or replace function loom._user_lock_key(p_org text, p_user_id text) returns bigint
language sql immutable strict parallel safe
as $$
  select hashtextextended(p_user_id, hashtextextended(p_org, 0))
$$;
comment on function loom._user_lock_key(text, text) is
  'Key of the advisory lock on a user of an org: writers take it shared, an erasure exclusively. Never stored, since text hashes differ between server versions.';
