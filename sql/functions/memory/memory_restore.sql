create or replace function loom.memory_restore(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.restore', p_request);
  v_old loom.memory := loom._memory_lock(v_caller, loom._required_identifier(p_request, 'memory_key'));
  v_at timestamptz := loom._memory_now(v_old);
  v_oldest timestamptz := v_at - interval '14 days';
  v_version loom.memory_version;
  v_new loom.memory;
  v_ok boolean;
begin
  if v_old.version is not null and loom._is_current(v_old, v_at) then
    return loom._memory_receipt(v_old, v_at, false, true) || '{"restored": false}';
  end if;
  v_ok := loom._memory_guard(v_old, v_at, loom._text(p_request, 'if_match_sha256'));
  if v_old.deleted_at > v_oldest then
    select * into v_version from loom.memory_version
    where org = v_old.org and memory_id = v_old.memory_id and content_sha256 is not null
    order by version desc limit 1;
  end if;
  if v_version.version is null or v_version.expires_at <= v_at then
    raise exception using errcode = 'LM102', message = 'There is no such memory.',
      hint = 'A deleted row can be restored for 14 days.';
  end if;
  v_new := loom._memory_again(v_old, v_version, v_at);
  v_ok := loom._blacklist_check(v_caller, loom._leaves(v_new.value) || v_new.memory_key || v_new.tags);
  v_new := loom._memory_store(v_old, v_new, 'restore', v_caller.actor);
  return loom._memory_receipt(v_new, v_at, true, false) || '{"restored": true}';
end
$$;
comment on function loom.memory_restore(jsonb) is
'Brings a deleted row back as it was before, as its next version, within 14 days.

Request: memory_key*, if_match_sha256.
Returns: the row receipt and restored (false for a row that is current already).
Errors: LM001, LM003, LM102 nothing to restore, LM201 if_match_sha256 (a tombstone has no hash), LM302, LM406, LM407 blacklisted meanwhile.';
