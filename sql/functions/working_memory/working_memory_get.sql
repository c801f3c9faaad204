create or replace function loom.working_memory_get(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('working_memory.get', p_request);
  v_key text := loom._block_key(p_request);
  v_block loom.working_memory;
begin
  select * into v_block from loom.working_memory
  where org = v_caller.org and namespace = v_caller.namespace and agent = v_caller.agent
    and user_id = v_caller.user_id and session_id = v_caller.session_id and run_id = v_caller.run_id
    and block_key = v_key;
  if v_block.version is null or v_block.deleted_at is not null then
    return jsonb_build_object('found', false, 'tombstoned', v_block.version is not null,
      'org', v_caller.org, 'namespace', v_caller.namespace, 'agent', v_caller.agent,
      'user_id', v_caller.user_id, 'session_id', v_caller.session_id, 'run_id', v_caller.run_id,
      'block_key', v_key, 'version', v_block.version, 'version_text', v_block.version::text);
  end if;
  return loom._working_memory_receipt(v_block, false) || jsonb_build_object('found', true,
    'content', v_block.content, 'description', v_block.description, 'read_only', v_block.read_only);
end
$$;
comment on function loom.working_memory_get(jsonb) is
'Reads one block as it stands now.

Request: block_key (scratchpad).
Returns: found; where found: content, description, read_only and the receipt (org, namespace, agent, user_id, session_id, run_id, block_key, version, version_text, content_sha256, value_length, char_limit, fill_ratio, created false, updated_at); otherwise the identity and block_key, tombstoned (a block was deleted there), version and version_text of its tombstone or null.
Errors: LM001, LM003, LM302, LM406.';
