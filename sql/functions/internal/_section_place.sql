create or replace function loom._section_place(p_row loom.memory) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object('label', p_row.memory_key, 'agent', p_row.agent, 'user_id', p_row.user_id,
    'session_id', p_row.session_id);
end
$$;
comment on function loom._section_place(loom.memory) is 'Which section: its label and whose it is.';
