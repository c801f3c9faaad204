create or replace function loom._search_terms(p_languages text[], p_query text) returns tsquery[]
language plpgsql stable
as $$
declare
  v_own tsvector := loom._words(p_languages[1], p_query);
  v_dropped text[] := '{}';
begin
  if p_languages[1] = 'simple' then
    v_dropped := loom._stop_words(tsvector_to_array(v_own));
  end if;
  if cardinality(p_languages) > 1 then
    return loom._search_terms_joined(p_languages, p_query, v_own, v_dropped);
  end if;
  return array(
    select loom._any_lexeme(array[lexeme])
    from unnest(v_own) as word (lexeme, positions, weights)
    -- Pairs of characters have no place.
    where positions is null or not lexeme = any (v_dropped)
    order by positions[1], lexeme
    limit 32);
end
$$;
comment on function loom._search_terms(text[], text) is
  'The words of a query without stop words, each with what it becomes in the configurations asked; the first 32.';
