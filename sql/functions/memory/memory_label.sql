create or replace function loom.memory_label(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.label', p_request);
  v_sensitivity text := loom._choice(p_request, 'sensitivity', '{low,normal,high}');
  v_old loom.memory := loom._memory_lock(v_caller, loom._required_identifier(p_request, 'memory_key'));
  v_at timestamptz := loom._memory_now(v_old);
  v_new loom.memory := v_old;
  v_ok boolean;
begin
  perform loom._memory_must_be_current(v_old, v_at);
  v_ok := loom._memory_guard(v_old, v_at, null);
  v_new.tags := loom._labelled(v_old.tags, p_request);
  v_new.sensitivity := coalesce(v_sensitivity, v_old.sensitivity);
  v_ok := loom._blacklist_check(v_caller, v_new.tags);
  if loom._same_metadata(v_old, v_new) then
    return loom._memory_receipt(v_old, v_at, false, true);
  end if;
  return loom._memory_remark(v_caller, v_old, v_new, 'label', v_at, false);
end
$$;
comment on function loom.memory_label(jsonb) is
'Changes tags and sensitivity of a row: a new version with the same value, which does not date the fact anew.

Request: memory_key*, tags {add, remove, replace: lists of tags}, sensitivity (low, normal, high).
Returns: row receipt; noop when nothing changes.
Errors: LM001, LM003, LM102, LM205 locked, LM302, LM406, LM407 blacklisted.';
