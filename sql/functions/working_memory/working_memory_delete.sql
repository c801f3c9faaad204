create or replace function loom.working_memory_delete(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('working_memory.delete', p_request);
  v_key text := loom._block_key(p_request);
  v_if_match text := loom._text(p_request, 'if_match_sha256');
  v_block loom.working_memory := loom._working_memory_lock(v_caller, v_key);
  v_live boolean := v_block.version is not null and v_block.deleted_at is null;
begin
  perform loom._working_memory_refuse(v_caller, v_block, v_if_match, 0, v_block.char_limit);
  if v_live then
    update loom.working_memory
    set content = null, description = null, read_only = false, version = version + 1,
      updated_at = greatest(updated_at, v_caller.called_at), updated_by = v_caller.actor, deleted_at = v_caller.called_at
    where org = v_caller.org and namespace = v_caller.namespace and agent = v_caller.agent
      and user_id = v_caller.user_id and session_id = v_caller.session_id and run_id = v_caller.run_id
      and block_key = v_key
    returning * into v_block;
  end if;
  return jsonb_build_object('found', v_live, 'tombstoned', v_block.version is not null,
    'version', v_block.version, 'version_text', v_block.version::text);
end
$$;
comment on function loom.working_memory_delete(jsonb) is
'Ends a block: a tombstone keeps key, version, who and when, and the text and its hash are gone. A later set takes the next version.

Request: block_key (scratchpad), if_match_sha256.
Returns: found (a live block was there), tombstoned (a tombstone stands there now), version and version_text of the tombstone (null when there never was a block).
Errors: LM001, LM003, LM201 stale if_match_sha256, LM205 read-only, LM302, LM406.';
