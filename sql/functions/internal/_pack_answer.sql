create or replace function loom._pack_answer(
  p_text text, p_stable text, p_stable_quarters bigint, p_parts jsonb[], p_tokens bigint, p_token_budget integer, p_legs jsonb,
  p_if_none_match text
) returns jsonb
language plpgsql stable
as $$
declare
  -- As loom._token_quarters counts it, which need not go through the text once more.
  v_stable_chars bigint := 2 * octet_length(p_stable) - p_stable_quarters;
  v_hash text := loom._text_sha256(p_stable);
  v_unchanged boolean := coalesce(v_hash = p_if_none_match, false);
begin
  if v_unchanged then
    p_text := substr(p_text, v_stable_chars::integer + 1);
    p_parts := array(
      select case when loom._pack_depends_on_query(part ->> 'name') then part else part - 'text' end
      from unnest(p_parts) with ordinality as told (part, place) order by place);
  end if;
  if p_legs is null then
    return jsonb_build_object('text', p_text, 'sections', p_parts, 'stable_prefix_chars', v_stable_chars,
      'stable_hash', v_hash, 'unchanged', v_unchanged, 'tokens', p_tokens, 'token_budget', p_token_budget);
  end if;
  return jsonb_build_object('text', p_text, 'sections', p_parts, 'stable_prefix_chars', v_stable_chars,
    'stable_hash', v_hash, 'unchanged', v_unchanged, 'tokens', p_tokens, 'token_budget', p_token_budget, 'legs', p_legs);
end
$$;
comment on function loom._pack_answer(text, text, bigint, jsonb[], bigint, integer, jsonb, text) is
  'The answer of context.pack: the sections put together, with the hash of the part in front that no query changes, and without that part where the caller has it.';
