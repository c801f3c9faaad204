create or replace function loom._weaving_enter(p_org text, p_lease_id uuid, p_user_id text) returns loom.loom
language plpgsql volatile
as $$
declare
  v_loom loom.loom;
begin
  -- As every writer under a user: before any row, so that an erasure comes before or after.
  if p_user_id is not null then
    perform pg_advisory_xact_lock_shared(loom._user_lock_key(p_org, p_user_id));
  end if;
  select * into v_loom from loom.loom where org = p_org and lease_id = p_lease_id for no key update;
  if v_loom.leased_until <= loom._now() then
    return null;
  end if;
  return v_loom;
end
$$;
comment on function loom._weaving_enter(text, uuid, text) is
  'The loom of a live lease, behind the lock of the user that is to be written under and that of the loom; null when the lease is over.';
