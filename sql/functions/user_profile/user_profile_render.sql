create or replace function loom.user_profile_render(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('user_profile.render', p_request);
  v_row loom.user_profile := loom._user_profile_find(v_caller, loom._user_profile_scope(v_caller, p_request));
  v_format text := coalesce(loom._choice(p_request, 'format', '{text,xml}'), 'text');
  v_language text := loom._bounded_text(p_request, 'language', 35);
  v_if_none_match text := loom._text(p_request, 'if_none_match');
  v_text text;
  v_sha256 text;
begin
  v_text := loom._user_profile_body(coalesce(v_row.profile, loom._user_profile_empty()), v_format, v_language);
  v_sha256 := loom._sha256(v_text);
  if v_sha256 = v_if_none_match then
    return jsonb_build_object('sha256', v_sha256, 'unchanged', true);
  end if;
  return jsonb_build_object('text', v_text, 'sha256', v_sha256, 'unchanged', false);
end
$$;
comment on function loom.user_profile_render(jsonb) is
'A user''s profile as one prompt fragment, one line each: header, facts in their order, traits, preferences, topics, summary. A pure function of its content; without anything to say it is empty.

Request: user_id* (or the token''s pinned user), format (text, xml), language (of the header, as in de or de-AT; English when left out or unknown), scope {tenant, user, thread, kind}, if_none_match (a sha256 answered before).
Returns: text (left out when unchanged), sha256 of the text, unchanged.
Errors: LM001, LM003, LM302, LM406.';
