create or replace function loom._memory_update(p_new loom.memory) returns void
language plpgsql volatile
as $$
begin
  update loom.memory
  set memory_type = p_new.memory_type, value = p_new.value, content_sha256 = p_new.content_sha256,
    value_length = p_new.value_length, char_limit = p_new.char_limit, tags = p_new.tags,
    confidence = p_new.confidence, source_class = p_new.source_class, source_trace = p_new.source_trace,
    valid_at = p_new.valid_at, valid_to = p_new.valid_to, expires_at = p_new.expires_at,
    pinned = p_new.pinned, sensitivity = p_new.sensitivity, lock_mode = p_new.lock_mode,
    lock_reason = p_new.lock_reason, lock_until = p_new.lock_until,
    reinforcement_count = p_new.reinforcement_count, version = p_new.version,
    recorded_at = p_new.recorded_at, changed_at = p_new.changed_at, source_part = p_new.source_part,
    changes_at = p_new.changes_at, author = p_new.author, actor = p_new.actor, created_at = p_new.created_at,
    created_by = p_new.created_by, deleted_at = p_new.deleted_at, redacted_at = p_new.redacted_at
  where org = p_new.org and namespace = p_new.namespace and agent = p_new.agent
    and user_id = p_new.user_id and session_id = p_new.session_id and memory_key = p_new.memory_key;
end
$$;
comment on function loom._memory_update(loom.memory) is 'Writes a locked row as it shall stand; its identity is left alone.';
