create or replace function loom.memory_redact(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('memory.redact', p_request);
  v_reason text := loom._text(p_request, 'reason', true);
  v_row loom.memory := loom._memory_to_redact(v_caller, p_request);
  v_at timestamptz := loom._memory_now(v_row);
  v_derived uuid[];
  v_versions bigint;
begin
  perform loom._bounded_text(p_request, 'reason', 500);
  v_derived := loom._derived_from(v_row, v_at);
  perform loom._forget_answers(v_row, v_derived);  -- while the hashes are known
  v_versions := loom._scrub(v_row.org, v_row.memory_id, null, v_at, v_caller.actor)
    + coalesce((select sum(loom._scrub(v_row.org, derived, v_row.memory_id, v_at, v_caller.actor))
        from unnest(v_derived) as derived), 0);
  perform loom._audit(v_row.org, v_caller.actor, v_at, 'memory.redact',
    jsonb_build_object('memory_id', v_row.memory_id, 'derived', to_jsonb(v_derived), 'reason', v_reason));
  return jsonb_build_object('memory_id', v_row.memory_id, 'memory_key', v_row.memory_key,
    'user_id', v_row.user_id,    'versions_scrubbed', v_versions, 'derived', to_jsonb(v_derived), 'redacted_at', loom._ts(v_at));
end
$$;
comment on function loom.memory_redact(jsonb) is
'Scrubs value and hash from every version of a row, and from every version that the worker made from it. What was redacted cannot be restored or reverted to. A retry reaches the same rows. Audited.

Request: memory_key or memory_id (one of them*), reason*.
Returns: memory_id, memory_key, user_id, versions_scrubbed, derived (ids of worker-written rows reached), redacted_at.
Errors: LM001, LM003, LM102, LM205 a row made from it is locked, LM302, LM406.';
