create or replace function loom.profile_render(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile.render', p_request);
  v_labels text[] := loom._labels(p_request);
  v_format text := coalesce(loom._choice(p_request, 'format', '{xml,markdown}'), 'xml');
  v_own_agent boolean := coalesce(loom._choice(p_request, 'scope', '{namespace,this_agent}'), 'namespace') = 'this_agent';
  v_budget integer := coalesce(loom._integer(p_request, 'char_budget', 1, 1000000), 1000000);
  v_if_none_match text := loom._text(p_request, 'if_none_match');
  v_rendered loom.rendered := loom._profile_rendered(v_caller, v_labels, v_format, v_own_agent, v_budget);
begin
  return loom._rendered_answer('sections', v_rendered, v_if_none_match);
end
$$;
comment on function loom.profile_render(jsonb) is
'The profile sections in reach as one prompt fragment, of every agent unless scope says otherwise; a pure function of their content. Sections beyond the budget are left out whole and named.

Request: labels (in the order wanted; all when left out), format (xml, markdown), scope (namespace, the default, or this_agent), read_scope (own_user, own_session, namespace), char_budget (1 to 1000000), if_none_match (a sha256 answered before).
Returns: text (left out when unchanged), sections [{label, agent, user_id, session_id, content_sha256}], omitted [{label, agent, user_id, session_id}] (the first 100), omitted_count, sha256 of the text, unchanged.
Errors: LM001, LM003, LM302, LM406.';
