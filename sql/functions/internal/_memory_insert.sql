create or replace function loom._memory_insert(p_new loom.memory) returns void
language plpgsql volatile
as $$
begin
  insert into loom.memory (org, namespace, agent, user_id, session_id, memory_key, memory_id, memory_type, value,
    content_sha256, value_length, char_limit, tags, confidence, source_class, source_trace, valid_at, valid_to,
    expires_at, pinned, sensitivity, lock_mode, lock_reason, lock_until, reinforcement_count, version,
    recorded_at, changed_at, source_part, changes_at, author, actor, created_at, created_by, deleted_at, redacted_at)
  values (
    p_new.org, p_new.namespace, p_new.agent, p_new.user_id, p_new.session_id, p_new.memory_key,
    p_new.memory_id, p_new.memory_type, p_new.value, p_new.content_sha256, p_new.value_length,
    p_new.char_limit, p_new.tags, p_new.confidence, p_new.source_class, p_new.source_trace, p_new.valid_at,
    p_new.valid_to, p_new.expires_at, p_new.pinned, p_new.sensitivity, p_new.lock_mode, p_new.lock_reason,
    p_new.lock_until, p_new.reinforcement_count, p_new.version, p_new.recorded_at, p_new.changed_at,
    p_new.source_part, p_new.changes_at, p_new.author, p_new.actor, p_new.created_at, p_new.created_by, p_new.deleted_at,
    p_new.redacted_at);
end
$$;
comment on function loom._memory_insert(loom.memory) is 'Writes a key''s first row.';
