create or replace function loom.memory_get(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.get', p_request);
  v_as_of timestamptz := loom._time(p_request, 'as_of');
  v_row loom.memory := loom._memory_named(v_caller, p_request, v_as_of is not null);
  v_if_version bigint := loom._integer(p_request, 'if_version', 0, 9007199254740991);
  v_at timestamptz := coalesce(v_as_of, v_caller.called_at);
begin
  if v_as_of is not null then
    v_row := loom._memory_then(v_caller, v_row, loom._identifier(p_request, 'memory_key'), v_as_of);
  end if;
  if v_row.memory_id is null or not loom._is_current(v_row, v_at) then
    return jsonb_build_object('found', false, 'memory_id', v_row.memory_id, 'version', v_row.version,
      'version_text', v_row.version::text,
      'status', case when v_row.memory_id is null then 'absent' else loom._memory_status(v_row, v_at, null) end);
  end if;
  if v_row.version = v_if_version then
    return loom._memory_receipt(v_row, v_at, false, false) || '{"found": true, "unchanged": true}';
  end if;
  return loom._memory_item(v_row, v_at) || '{"found": true, "unchanged": false}';
end
$$;
comment on function loom.memory_get(jsonb) is
'Reads one row: by memory_id, or by key that of exactly this identity and else the nearest in reach. The answer carries the row''s own identity.

Request: memory_key or memory_id (one of them*), as_of (as it was recorded at that time), if_version (answers unchanged, without the value, when it is still that version), read_scope (own_user, own_session, namespace).
Returns: found, unchanged; where found: the row receipt, value, memory_type, tags, confidence, source_class, source_trace, valid_at, valid_to, expires_at, pinned, sensitivity, lock, reinforcement_count, changed_at, created_at, created_by, written_by, updated_by, deleted_at, redacted_at; otherwise status (absent, deleted, expired, redacted), memory_id and version of what stands there.
Errors: LM001, LM003, LM302, LM406.';
