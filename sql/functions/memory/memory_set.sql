create or replace function loom.memory_set(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.set', p_request);
  v_key text := loom._required_identifier(p_request, 'memory_key');
  v_type text := loom._choice(p_request, 'memory_type',
    '{semantic,episodic,procedural,preference,decision,profile}');
begin
  return loom._memory_set(v_caller, v_key, v_type, p_request);
end
$$;
comment on function loom.memory_set(jsonb) is
'Writes the value of a key. The same value and metadata again are a restatement (noop); another value or other metadata are a new version; what is left out stays, but a changed value drops the old valid_at and valid_to.

Request: memory_key*, value* (any JSON of at most 256 KiB), memory_type (semantic, episodic, procedural, preference, decision, profile; default semantic), tags (50 of 100 characters at most), confidence (0 to 1, default 1), source_class (stated, observed, imported), source_trace (2000 characters at most), valid_at, valid_to, clear_valid, ttl_seconds or expires_at, clear_expiry, pinned, sensitivity (low, normal, high), char_limit (default and most 262144; profile 8192 and 65536), if_match_sha256, if_absent, dry_run.
Returns: row receipt: org, namespace, agent, user_id, session_id, memory_key, memory_id, version, version_text, content_sha256, value_length, char_limit, fill_ratio, created, noop, status, duplicate_of, updated_at.
Errors: LM001, LM003, LM201 stale if_match_sha256, LM202 if_absent over a current row, LM204 changed value on a pinned row, LM205 locked, LM302, LM402 over char_limit, LM406, LM407 blacklisted.';
