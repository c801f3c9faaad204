create or replace function loom.profile_append(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile.append', p_request);
  v_addition text := loom._text(p_request, 'addition', true);
  v_separator text := coalesce(loom._text(p_request, 'separator'), E'\n');
  v_old loom.memory := loom._memory_lock(v_caller, loom._required_identifier(p_request, 'label'));
  v_at timestamptz := loom._memory_now(v_old);
begin
  if v_old.version is not null and loom._is_current(v_old, v_at) then
    v_addition := loom._section_text(v_old) || v_separator || v_addition;
  end if;
  return loom._memory_edit(v_caller, v_old, v_at, to_jsonb(v_addition), 'profile', p_request, 'append');
end
$$;
comment on function loom.profile_append(jsonb) is
'Adds to the end of a section, inside the database, so that appends of many writers all stay. A missing section is made, without separator.

Request: label*, addition*, separator (newline), if_match_sha256.
Returns: row receipt.
Errors: LM001, LM003, LM201 stale if_match_sha256, LM204 pinned, LM205 locked, LM302, LM402 over char_limit, LM404 the section is no text, LM406, LM407 blacklisted.';
