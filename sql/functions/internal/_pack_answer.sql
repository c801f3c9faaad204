create or replace function loom._pack_answer(
  p_text text, p_parts jsonb[], p_stable_chars bigint, p_hash text, p_unchanged boolean, p_tokens bigint,
  p_token_budget integer, p_legs jsonb
) returns jsonb
language sql stable parallel safe
as $$
  select case
    when p_legs is null then jsonb_build_object('text', p_text, 'sections', p_parts, 'stable_prefix_chars', p_stable_chars,
      'stable_hash', p_hash, 'unchanged', p_unchanged, 'tokens', p_tokens, 'token_budget', p_token_budget)
    else jsonb_build_object('text', p_text, 'sections', p_parts, 'stable_prefix_chars', p_stable_chars,
      'stable_hash', p_hash, 'unchanged', p_unchanged, 'tokens', p_tokens, 'token_budget', p_token_budget, 'legs', p_legs)
  end
$$;
comment on function loom._pack_answer(text, jsonb[], bigint, text, boolean, bigint, integer, jsonb) is
  'The answer of context.pack; which legs of the search ran is part of it with a query only.';
