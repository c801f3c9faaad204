create or replace function loom._weaving_json(p_weaving loom.loom_weaving) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object('id', p_weaving.weaving_id, 'loomId', p_weaving.loom_id, 'cause', p_weaving.cause,
    'dryRun', p_weaving.dry_run, 'state', p_weaving.state, 'error', p_weaving.error, 'processId', p_weaving.process_id,
    'model', p_weaving.model, 'promptTokens', p_weaving.prompt_tokens,
    'completionTokens', p_weaving.completion_tokens, 'added', p_weaving.added, 'revised', p_weaving.revised, 'retired', p_weaving.retired,
    'dropped', p_weaving.dropped, 'dateRequested', loom._ts7(p_weaving.requested_at),
    'dateStarted', loom._ts7(p_weaving.started_at), 'dateEnded', loom._ts7(p_weaving.ended_at),
    'dateReverted', loom._ts7(p_weaving.reverted_at));
end
$$;
comment on function loom._weaving_json(loom.loom_weaving) is 'A weaving as the wire shows it, without its changes.';
