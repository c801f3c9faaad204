create or replace function loom._user_locked(p_mode text, p_key bigint) returns boolean
language sql volatile
as $$
  select case p_mode
    when 'exclusive' then pg_advisory_xact_lock(p_key) is not null
    else pg_advisory_xact_lock_shared(p_key) is not null
  end
$$;
comment on function loom._user_locked(text, bigint) is
  'Takes the first lock of every write under a user: shared among writers, exclusive for an erasure. An assignment costs half of what perform does.';
