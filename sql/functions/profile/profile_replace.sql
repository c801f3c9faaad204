create or replace function loom.profile_replace(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile.replace', p_request);
  v_replaced text := loom._old_text(p_request);
  v_new text := loom._text(p_request, 'new', true);
  v_expected integer := loom._integer(p_request, 'expected_count', 1, 1000000);
  v_old loom.memory := loom._memory_lock(v_caller, loom._required_identifier(p_request, 'label'));
  v_at timestamptz := loom._memory_now(v_old);
  v_text text;
  v_count integer;
  v_ok boolean;
begin
  -- A fact of that key is no section, as for profile.delete.
  perform loom._memory_must_be_current(case v_old.memory_type when 'profile' then v_old end, v_at);
  v_ok := loom._memory_guard(v_old, v_at, loom._text(p_request, 'if_match_sha256'));
  v_text := loom._section_text(v_old);
  v_count := loom._occurrences(v_text, v_replaced, v_expected);
  -- As JSON: each character is escaped by itself, so the length of the result is known beforehand.
  perform loom._section_fits(v_old, v_old.value_length + v_count::bigint
    * (char_length(to_jsonb(v_new)::text) - char_length(to_jsonb(v_replaced)::text)));
  return loom._memory_edit(v_caller, v_old, v_at, to_jsonb(replace(v_text, v_replaced, v_new)), 'profile',
    p_request, 'replace') || jsonb_build_object('replacements', v_count);
end
$$;
comment on function loom.profile_replace(jsonb) is
'Puts new text in place of every occurrence of old text in a section, from left to right, not overlapping, newlines included.

Request: label*, old* (not empty), new*, expected_count (1 to 1000000; refused unless there are just so many), if_match_sha256.
Returns: row receipt and replacements.
Errors: LM001, LM003, LM102 no such section, LM201 stale if_match_sha256, LM203 another count, LM204 pinned, LM205 locked, LM302, LM402 over char_limit, LM403 not there, LM404 the section is no text, LM406, LM407 blacklisted.';
