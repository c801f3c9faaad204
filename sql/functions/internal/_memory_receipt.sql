create or replace function loom._memory_receipt(p_row loom.memory, p_at timestamptz, p_created boolean, p_noop boolean)
returns jsonb
language plpgsql volatile
as $$
declare
  v_duplicate_of uuid := loom._duplicate_of(p_row, p_at);
begin
  return jsonb_build_object(
    'org', p_row.org, 'namespace', p_row.namespace, 'agent', p_row.agent,
    'user_id', p_row.user_id, 'session_id', p_row.session_id,
    'memory_key', p_row.memory_key, 'memory_id', p_row.memory_id,
    'version', p_row.version, 'version_text', p_row.version::text,
    'content_sha256', p_row.content_sha256, 'value_length', p_row.value_length,
    'char_limit', p_row.char_limit, 'fill_ratio', loom._fill_ratio(p_row.value_length, p_row.char_limit),
    'created', p_created, 'noop', p_noop,
    'status', loom._memory_status(p_row, p_at, v_duplicate_of), 'duplicate_of', v_duplicate_of,
    'updated_at', loom._ts(p_row.recorded_at));
end
$$;
comment on function loom._memory_receipt(loom.memory, timestamptz, boolean, boolean) is
  'What every write of a memory row answers: key, version, hash, how full it is, and whether it repeats another row; without the value.';
