create or replace function loom._memory_pin(p_caller loom.caller, p_request jsonb, p_pinned boolean) returns jsonb
language plpgsql volatile
as $$
declare
  v_old loom.memory := loom._memory_lock(p_caller, loom._required_identifier(p_request, 'memory_key'));
  v_at timestamptz := loom._memory_now(v_old);
  v_new loom.memory := v_old;
  v_change text := case when p_pinned then 'pin' else 'unpin' end;
  v_ok boolean;
begin
  if p_pinned or v_old.version is null then
    perform loom._memory_must_be_current(v_old, v_at);
  end if;
  v_ok := loom._memory_guard(v_old, v_at, null);
  if v_old.pinned = p_pinned then
    return loom._memory_receipt(v_old, v_at, false, true);
  end if;
  v_new.pinned := p_pinned;
  perform loom._audit(p_caller.org, p_caller.actor, v_at, 'memory.' || v_change,
    jsonb_build_object('memory_id', v_old.memory_id));
  return loom._memory_remark(p_caller, v_old, v_new, v_change, v_at, false);
end
$$;
comment on function loom._memory_pin(loom.caller, jsonb, boolean) is
  'Pins or unpins a row (unpins a deleted or redacted one too); does not date the fact anew. A noop when it is so already. LM102, LM205.';
