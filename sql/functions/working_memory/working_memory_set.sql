create or replace function loom.working_memory_set(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('working_memory.set', p_request);
  v_key text := loom._block_key(p_request);
  v_content text := loom._text(p_request, 'content', true);
  v_limit integer := loom._char_limit(p_request, 16384);
  v_description text := loom._bounded_text(p_request, 'description', 1000);
  v_read_only boolean := loom._working_memory_read_only(v_caller, p_request);
  v_if_match text := loom._text(p_request, 'if_match_sha256');
  v_if_absent boolean := loom._if_absent(p_request);
  v_length integer := char_length(v_content);
  v_block loom.working_memory;
  v_ok boolean;
begin
  v_ok := loom._blacklist_check(v_caller, array[v_key, v_content, v_description]);
  loop
    if not v_if_absent then
      update loom.working_memory
      set content = v_content, char_limit = coalesce(v_limit, char_limit),
        description = coalesce(v_description, description), read_only = coalesce(v_read_only, read_only),
        version = version + 1, updated_at = greatest(updated_at, v_caller.called_at), updated_by = v_caller.actor
      where org = v_caller.org and namespace = v_caller.namespace and agent = v_caller.agent
        and user_id = v_caller.user_id and session_id = v_caller.session_id and run_id = v_caller.run_id
        and block_key = v_key and deleted_at is null
        and v_length <= coalesce(v_limit, char_limit)
        and (v_if_match is null or content_sha256 = v_if_match)
        and (v_caller.is_admin or not read_only)
      returning * into v_block;
      if found then
        return loom._working_memory_receipt(v_block, false);
      end if;
    end if;
    v_block := loom._working_memory_lock(v_caller, v_key);
    if v_block.deleted_at is null and v_block.version is not null then
      if v_if_absent then
        raise exception using errcode = 'LM202', message = 'There is one already.',
          hint = 'Leave if_absent out to write over it.';
      end if;
      perform loom._working_memory_refuse(v_caller, v_block, v_if_match, v_length,
        coalesce(v_limit, v_block.char_limit));
      continue;  -- a rival changed it since the update looked
    end if;
    perform loom._working_memory_refuse(v_caller, v_block, v_if_match, v_length, coalesce(v_limit, 4096));
    v_block := loom._working_memory_create(v_caller, v_key, v_content, coalesce(v_limit, 4096),
      v_description, coalesce(v_read_only, false), v_block.version is not null);
    if v_block.version is not null then
      return loom._working_memory_receipt(v_block, true);
    end if;
  end loop;
end
$$;
comment on function loom.working_memory_set(jsonb) is
'Writes the whole text of a block. Text and limit are taken together: the text is checked against the new limit.

Request: content*, block_key (scratchpad), char_limit (1 to 16384; a new block gets 4096), if_match_sha256 (write only over this text), if_absent (write only where no block is live), description (1000 characters at most; never rendered), read_only (admin).
Returns: receipt: org, namespace, agent, user_id, session_id, run_id, block_key, version, version_text, content_sha256, value_length, char_limit, fill_ratio, created, updated_at.
Errors: LM001, LM003, LM201 stale if_match_sha256, LM202 if_absent over a live block, LM205 read-only, LM302, LM401 too long, LM406, LM407 blacklisted.';
