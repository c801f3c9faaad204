create or replace function loom._loom_turn_json(p_turn loom.loom_turn) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object('id', p_turn.turn_id, 'agent', nullif(p_turn.agent, '-'), 'processId', p_turn.process_id,
    'userId', p_turn.user_id, 'text', p_turn.text, 'dateCreated', loom._ts7(p_turn.at));
end
$$;
comment on function loom._loom_turn_json(loom.loom_turn) is 'A turn as the wire shows it.';
