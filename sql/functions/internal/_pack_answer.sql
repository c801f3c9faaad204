create or replace function loom._pack_answer(
  p_bodies text[], p_stable integer, p_parts jsonb[], p_tokens bigint, p_token_budget integer, p_legs jsonb, p_if_none_match text
) returns jsonb
language plpgsql immutable
as $$
declare
  v_prefix text := array_to_string(p_bodies[:p_stable], E'\n\n');
  v_text text := array_to_string(p_bodies, E'\n\n');
  v_hash text := loom._sha256(v_prefix);
  v_unchanged boolean := coalesce(v_hash = p_if_none_match, false);
begin
  if v_unchanged then
    v_text := substr(v_text, char_length(v_prefix) + 1);
    p_parts := array(
      select case when loom._pack_depends_on_query(part ->> 'name') then part else part - 'text' end
      from unnest(p_parts) with ordinality as told (part, place) order by place);
  end if;
  if p_legs is null then
    return jsonb_build_object('text', v_text, 'sections', p_parts, 'stable_prefix_chars', char_length(v_prefix),
      'stable_hash', v_hash, 'unchanged', v_unchanged, 'tokens', p_tokens, 'token_budget', p_token_budget);
  end if;
  return jsonb_build_object('text', v_text, 'sections', p_parts, 'stable_prefix_chars', char_length(v_prefix),
    'stable_hash', v_hash, 'unchanged', v_unchanged, 'tokens', p_tokens, 'token_budget', p_token_budget, 'legs', p_legs);
end
$$;
comment on function loom._pack_answer(text[], integer, jsonb[], bigint, integer, jsonb, text) is
  'The answer of context.pack: the sections that hold something put together, the first so many of them as the part of the text that no query changes, with its hash, and without that part where the caller has it.';
