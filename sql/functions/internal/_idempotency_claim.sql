create or replace function loom._idempotency_claim(
  p_caller loom.caller, p_op text, p_key text, p_hash bigint[]
) returns boolean
language plpgsql volatile
as $$
declare
  v_org text := p_caller.org;
  v_actor text := p_caller.actor;
  v_now timestamptz := p_caller.called_at;
  v_expires timestamptz := v_now + interval '24 hours';
begin
  insert into loom.idempotency (org, actor, op, key, request_hash, created_at, expires_at)
  values (v_org, v_actor, p_op, p_key, p_hash, v_now, v_expires)
  on conflict do nothing;
  if found then
    return true;
  end if;
  delete from loom.idempotency
  where org = v_org and actor = v_actor and op = p_op and key = p_key and expires_at <= v_now;
  if not found then
    return false;
  end if;
  insert into loom.idempotency (org, actor, op, key, request_hash, created_at, expires_at)
  values (v_org, v_actor, p_op, p_key, p_hash, v_now, v_expires)
  on conflict do nothing;
  return found;
end
$$;
comment on function loom._idempotency_claim(loom.caller, text, text, bigint[]) is
  'Takes an idempotency key for this call; false when an earlier call has it. Waits for a rival that is under way.';
