create or replace function loom._section_told(p_row loom.memory) returns jsonb
language sql stable
as $$
  -- All of them texts, for which this is half as dear as jsonb_build_object.
  select jsonb_object('{label,agent,user_id,session_id,content_sha256}',
    array[p_row.memory_key, p_row.agent, p_row.user_id, p_row.session_id, p_row.content_sha256])
$$;
comment on function loom._section_told(loom.memory) is 'How an answer names a section that it holds: its label, whose it is, and the hash of its content.';
