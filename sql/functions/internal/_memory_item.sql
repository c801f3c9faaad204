create or replace function loom._memory_item(p_row loom.memory, p_at timestamptz) returns jsonb
language plpgsql volatile
as $$
begin
  return (loom._memory_receipt(p_row, p_at, false, false) - '{created,noop}'::text[]) || jsonb_build_object(
    'memory_type', p_row.memory_type, 'value', p_row.value, 'tags', to_jsonb(p_row.tags),
    'confidence', p_row.confidence, 'source_class', p_row.source_class, 'source_trace', p_row.source_trace,
    'valid_at', loom._ts(p_row.valid_at), 'valid_to', loom._ts(p_row.valid_to),
    'expires_at', loom._ts(p_row.expires_at), 'pinned', p_row.pinned, 'sensitivity', p_row.sensitivity,
    'lock', case when loom._memory_locked(p_row, p_at) then jsonb_build_object(
      'mode', p_row.lock_mode, 'reason', p_row.lock_reason, 'until', loom._ts(p_row.lock_until)) end,
    'reinforcement_count', p_row.reinforcement_count, 'changed_at', loom._ts(p_row.changed_at),
    'created_at', loom._ts(p_row.created_at), 'created_by', p_row.created_by, 'written_by', p_row.author, 'updated_by', p_row.actor,
    'deleted_at', loom._ts(p_row.deleted_at), 'redacted_at', loom._ts(p_row.redacted_at));
end
$$;
comment on function loom._memory_item(loom.memory, timestamptz) is 'A memory row as reads show it: value and all metadata.';
