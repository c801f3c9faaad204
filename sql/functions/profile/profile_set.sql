create or replace function loom.profile_set(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile.set', p_request);
begin
  return loom._memory_set(v_caller, loom._required_identifier(p_request, 'label'), 'profile', p_request);
end
$$;
comment on function loom.profile_set(jsonb) is
'Writes a profile section: the memory row of type profile whose key is the label.

Request: label*, value* (any JSON), char_limit (default 8192, at most 65536, of the canonical JSON), if_match_sha256, if_absent.
Returns: row receipt: org, namespace, agent, user_id, session_id, memory_key, memory_id, version, version_text, content_sha256, value_length, char_limit, fill_ratio, created, noop, status, duplicate_of, updated_at.
Errors: LM001, LM003, LM201 stale if_match_sha256, LM202 if_absent over a current section, LM204 pinned, LM205 locked, LM302, LM402 over char_limit, LM406, LM407 blacklisted.';
