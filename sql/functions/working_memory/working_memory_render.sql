create or replace function loom.working_memory_render(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('working_memory.render', p_request);
  v_keys text[] := loom._block_keys(p_request);
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 100), 20);
  v_format text := coalesce(loom._choice(p_request, 'format', '{xml,markdown}'), 'xml');
  v_layered boolean := coalesce(loom._boolean(p_request, 'layered'), false);
  v_if_none_match text := loom._text(p_request, 'if_none_match');
  v_rendered loom.rendered;
begin
  v_rendered := loom._working_memory_rendered(v_caller, v_keys, v_limit, v_format, v_layered);
  return loom._rendered_answer('blocks', v_rendered, v_if_none_match);
end
$$;
comment on function loom.working_memory_render(jsonb) is
'The text of an agent''s blocks as one prompt fragment, a pure function of their content. With layered also the blocks of wider layers, each key once and the narrowest winning: run, session, user, agent, and the namespace''s, which all its agents share.

Request: block_keys (20 at most, in the order wanted; all blocks when left out), limit (1 to 100, default 20), format (xml, markdown), layered, if_none_match (a sha256 answered before).
Returns: text (left out when unchanged), blocks [{block_key, layer, content_sha256, fill_ratio}], omitted (keys beyond the limit, the first 100), omitted_count, sha256 of the text, unchanged.
Errors: LM001, LM003, LM302, LM406.';
