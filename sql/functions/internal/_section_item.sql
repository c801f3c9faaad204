create or replace function loom._section_item(p_row loom.memory) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object('label', p_row.memory_key, 'org', p_row.org, 'namespace', p_row.namespace,
    'agent', p_row.agent, 'user_id', p_row.user_id, 'session_id', p_row.session_id,
    'memory_id', p_row.memory_id, 'version', p_row.version, 'version_text', p_row.version::text,
    'content_sha256', p_row.content_sha256, 'value_length', p_row.value_length,
    'char_limit', p_row.char_limit, 'fill_ratio', loom._fill_ratio(p_row.value_length, p_row.char_limit),
    'created_at', loom._ts(p_row.created_at), 'updated_at', loom._ts(p_row.recorded_at));
end
$$;
comment on function loom._section_item(loom.memory) is 'A profile section as a list shows it: everything but its value.';
