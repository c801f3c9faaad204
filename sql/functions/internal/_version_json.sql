create or replace function loom._version_json(p_row loom.memory, p_version loom.memory_version) returns jsonb
language plpgsql volatile
as $$
declare
  v_row loom.memory := loom._memory_as_of(p_row, p_version);
begin
  return jsonb_build_object('version', p_version.version, 'version_text', p_version.version::text,
    'change', p_version.change, 'value', v_row.value, 'content_sha256', v_row.content_sha256,
    'value_length', v_row.value_length, 'char_limit', v_row.char_limit, 'memory_type', v_row.memory_type,
    'tags', to_jsonb(v_row.tags), 'confidence', v_row.confidence, 'source_class', v_row.source_class,
    'source_trace', v_row.source_trace, 'valid_at', loom._ts(v_row.valid_at),
    'valid_to', loom._ts(v_row.valid_to), 'expires_at', loom._ts(v_row.expires_at),
    'pinned', v_row.pinned, 'sensitivity', v_row.sensitivity,
    'lock', case when v_row.lock_mode is not null then jsonb_build_object(
      'mode', v_row.lock_mode, 'reason', v_row.lock_reason, 'until', loom._ts(v_row.lock_until)) end,
    'recorded_at', loom._ts(v_row.recorded_at), 'changed_at', loom._ts(v_row.changed_at),
    'written_by', v_row.author, 'actor', v_row.actor, 'redacted_at', loom._ts(v_row.redacted_at));
end
$$;
comment on function loom._version_json(loom.memory, loom.memory_version) is 'A version as a history shows it.';
