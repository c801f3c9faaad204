create or replace function loom.working_memory_replace(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('working_memory.replace', p_request);
  v_key text := loom._block_key(p_request);
  v_old text := loom._old_text(p_request);
  v_new text := loom._text(p_request, 'new', true);
  v_expected integer := loom._integer(p_request, 'expected_count', 1, 1000000);
  v_if_match text := loom._text(p_request, 'if_match_sha256');
  v_block loom.working_memory := loom._working_memory_lock(v_caller, v_key);
  v_count integer;
  v_length bigint;
  v_ok boolean;
begin
  if v_block.version is null or v_block.deleted_at is not null then
    raise exception using errcode = 'LM101', message = 'There is no such block.',
      hint = 'Write the block with working_memory.set or append first.';
  end if;
  perform loom._working_memory_refuse(v_caller, v_block, v_if_match, 0, v_block.char_limit);
  v_count := loom._occurrences(v_block.content, v_old, v_expected);
  v_length := v_block.value_length + v_count::bigint * (char_length(v_new) - char_length(v_old));
  perform loom._working_memory_refuse(v_caller, v_block, v_if_match, v_length, v_block.char_limit);
  update loom.working_memory
  set content = replace(content, v_old, v_new), version = version + 1,
    updated_at = greatest(updated_at, v_caller.called_at), updated_by = v_caller.actor
  where org = v_caller.org and namespace = v_caller.namespace and agent = v_caller.agent
    and user_id = v_caller.user_id and session_id = v_caller.session_id and run_id = v_caller.run_id
    and block_key = v_key
  returning * into v_block;
  v_ok := loom._blacklist_check(v_caller, array[v_block.content]);
  return loom._working_memory_receipt(v_block, false) || jsonb_build_object('replacements', v_count);
end
$$;
comment on function loom.working_memory_replace(jsonb) is
'Puts new text in place of every occurrence of old text in a block, from left to right, not overlapping, newlines included. Exact match, in one transaction with the block locked.

Request: old* (not empty), new*, block_key (scratchpad), expected_count (1 to 1000000; refused unless there are just so many), if_match_sha256.
Returns: receipt (org, namespace, agent, user_id, session_id, run_id, block_key, version, version_text, content_sha256, value_length, char_limit, fill_ratio, created, updated_at) and replacements.
Errors: LM001, LM003, LM101 no live block, LM201 stale if_match_sha256, LM203 another count, LM205 read-only, LM302, LM401 too long, LM403 not there, LM406, LM407 blacklisted.';
