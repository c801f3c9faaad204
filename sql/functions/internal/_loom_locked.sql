create or replace function loom._loom_locked(p_caller loom.caller, p_loom_id uuid) returns loom.loom
language plpgsql volatile
as $$
declare
  v_org text := p_caller.org;
begin
  -- Whoever writes into a loom holds it: a rival that deletes it comes before or after.
  perform from loom.loom where org = v_org and loom_id = p_loom_id for no key update;
  return loom._loom_in_reach(p_caller, p_loom_id);
end
$$;
comment on function loom._loom_locked(loom.caller, uuid) is
  'The loom of an id, whose row is the caller''s until the transaction ends. Behind the lock of a user, before those of threads. LM103.';
