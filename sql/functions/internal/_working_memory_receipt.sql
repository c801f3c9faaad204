create or replace function loom._working_memory_receipt(p_block loom.working_memory, p_created boolean)
returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object(
    'org', p_block.org, 'namespace', p_block.namespace, 'agent', p_block.agent,
    'user_id', p_block.user_id, 'session_id', p_block.session_id, 'run_id', p_block.run_id,
    'block_key', p_block.block_key,
    'version', p_block.version, 'version_text', p_block.version::text,
    'content_sha256', p_block.content_sha256, 'value_length', p_block.value_length,
    'char_limit', p_block.char_limit,
    'fill_ratio', loom._fill_ratio(p_block.value_length, p_block.char_limit),
    'created', p_created, 'updated_at', loom._ts(p_block.updated_at));
end
$$;
comment on function loom._working_memory_receipt(loom.working_memory, boolean) is
  'What every write of a block answers: its key, version, hash and how full it is, without the text.';
