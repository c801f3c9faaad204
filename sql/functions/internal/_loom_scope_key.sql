create or replace function loom._loom_scope_key(p_request jsonb, p_scope text, p_agent text) returns text
language plpgsql immutable
as $$
declare
  v_interaction uuid := loom._uuid(p_request, 'interactionId', true);
  v_key text := concat_ws(':', p_scope, v_interaction, case p_scope
    when 'agent' then p_agent
    when 'input' then loom._required_identifier(p_request, 'scopeValue') end);
begin
  -- The uuid has a fixed length, so that no two places have the same key.
  return loom._identifier(jsonb_build_object('scopeKey', v_key), 'scopeKey');
end
$$;
comment on function loom._loom_scope_key(jsonb, text, text) is
  'Which of an interaction''s looms is meant: its one, that of an agent, or that of a value of its input. LM001 for what the scope needs and the request does not name, LM406 for a key that is too long.';
