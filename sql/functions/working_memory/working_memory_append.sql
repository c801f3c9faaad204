create or replace function loom.working_memory_append(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('working_memory.append', p_request);
  v_key text := loom._block_key(p_request);
  v_addition text := loom._text(p_request, 'addition', true);
  v_tail text := coalesce(loom._text(p_request, 'separator'), E'\n') || v_addition;
  v_added integer := char_length(v_tail);
  v_if_match text := loom._text(p_request, 'if_match_sha256');
  v_block loom.working_memory;
  v_ok boolean;
begin
  v_ok := loom._blacklist_check(v_caller, array[v_key, v_addition]);
  loop
    update loom.working_memory
    set content = content || v_tail, version = version + 1,
      updated_at = greatest(updated_at, v_caller.called_at), updated_by = v_caller.actor
    where org = v_caller.org and namespace = v_caller.namespace and agent = v_caller.agent
      and user_id = v_caller.user_id and session_id = v_caller.session_id and run_id = v_caller.run_id
      and block_key = v_key and deleted_at is null
      and value_length + v_added <= char_limit
      and (v_if_match is null or content_sha256 = v_if_match)
      and (v_caller.is_admin or not read_only)
    returning * into v_block;
    if found then
      -- What was there and what came can match together.
      v_ok := loom._blacklist_check(v_caller, array[v_block.content]);
      return loom._working_memory_receipt(v_block, false);
    end if;
    v_block := loom._working_memory_lock(v_caller, v_key);
    if v_block.deleted_at is null and v_block.version is not null then
      perform loom._working_memory_refuse(v_caller, v_block, v_if_match, v_block.value_length + v_added,
        v_block.char_limit);
      continue;  -- a rival changed it since the update looked
    end if;
    perform loom._working_memory_refuse(v_caller, v_block, v_if_match, char_length(v_addition), 4096);
    v_block := loom._working_memory_create(v_caller, v_key, v_addition, 4096, null, false,
      v_block.version is not null);
    if v_block.version is not null then
      return loom._working_memory_receipt(v_block, true);
    end if;
  end loop;
end
$$;
comment on function loom.working_memory_append(jsonb) is
'Adds to the end of a block in one statement, so that appends of many writers all stay. A missing or deleted block is made, without separator.

Request: addition*, separator (newline), block_key (scratchpad), if_match_sha256.
Returns: receipt: org, namespace, agent, user_id, session_id, run_id, block_key, version, version_text, content_sha256, value_length, char_limit, fill_ratio, created, updated_at.
Errors: LM001, LM003, LM201 stale if_match_sha256, LM205 read-only, LM302, LM401 too long, LM406, LM407 blacklisted.';
