create or replace function loom.memory_delete(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.delete', p_request);
begin
  return loom._memory_delete(v_caller, loom._required_identifier(p_request, 'memory_key'), p_request, null);
end
$$;
comment on function loom.memory_delete(jsonb) is
'Ends a row: its tombstone can be restored for 14 days. History keeps what was there until then.

Request: memory_key*, if_match_sha256.
Returns: found (a current row was there), tombstoned (a tombstone stands there now), memory_id, version, version_text.
Errors: LM001, LM003, LM201 stale if_match_sha256, LM205 locked, LM302, LM406.';
