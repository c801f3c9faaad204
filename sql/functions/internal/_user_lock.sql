create or replace function loom._user_lock(p_mode text, p_key bigint) returns void
language plpgsql volatile
set search_path = loom, pg_temp
as $$
begin
  if p_mode = 'exclusive' then
    perform pg_advisory_xact_lock(p_key);
  else
    perform pg_advisory_xact_lock_shared(p_key);
  end if;
end
$$;
comment on function loom._user_lock(text, bigint) is
  'The first lock of every write under a user: shared among writers, exclusive for an erasure.';
