create or replace function loom.profile_delete(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile.delete', p_request);
begin
  return loom._memory_delete(v_caller, loom._required_identifier(p_request, 'label'), p_request, 'profile');
end
$$;
comment on function loom.profile_delete(jsonb) is
'Ends a section: its tombstone can be restored for 14 days with memory.restore.

Request: label*, if_match_sha256.
Returns: found (a current section was there), tombstoned, memory_id, version, version_text.
Errors: LM001, LM003, LM201 stale if_match_sha256, LM205 locked, LM302, LM406.';
