create or replace function loom._loom_thread_json(p_thread loom.loom_thread) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object(
    'id', p_thread.thread_id, 'loomId', p_thread.loom_id,
    'kind', case p_thread.agent when '-' then 'shared' else 'own' end, 'agent', nullif(p_thread.agent, '-'),
    'userId', p_thread.user_id, 'text', p_thread.text, 'tags', to_jsonb(p_thread.tags),
    'wovenFrom', to_jsonb(p_thread.woven_from), 'version', p_thread.version,
    'dateCreated', loom._ts7(p_thread.created_at), 'dateUpdated', loom._ts7(p_thread.updated_at),
    'deletedAt', loom._ts7(p_thread.deleted_at));
end
$$;
comment on function loom._loom_thread_json(loom.loom_thread) is 'A thread as the wire shows it.';
