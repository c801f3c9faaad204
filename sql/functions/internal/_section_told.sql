create or replace function loom._section_told(p_row loom.memory) returns jsonb
language sql stable
as $$
  select jsonb_build_object('label', p_row.memory_key, 'agent', p_row.agent, 'user_id', p_row.user_id,
    'session_id', p_row.session_id, 'content_sha256', p_row.content_sha256)
$$;
comment on function loom._section_told(loom.memory) is 'How an answer names a section that it holds: its label, whose it is, and the hash of its content.';
