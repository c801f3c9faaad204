create or replace function loom._search_terms(p_languages text[], p_query text) returns tsquery[]
language plpgsql stable
set search_path = loom, pg_temp
as $$
declare
  v_own tsvector := loom._words(p_languages[1], p_query);
  v_dropped text[] := case when p_languages[1] = 'simple' then loom._stop_words(tsvector_to_array(v_own)) else '{}' end;
begin
  return array(
    select loom._any_lexeme(lexemes) from (
      -- A word stands at the same place in every configuration; one that the namespace's own drops counts in none.
      select array_agg(distinct lexeme order by lexeme) as lexemes, position as place
      from unnest(p_languages) with ordinality as asked (language, number)
      cross join lateral unnest(loom._words(language, p_query)) as word (lexeme, positions, weights)
      cross join lateral unnest(positions) as position
      group by position
      having bool_or(number = 1 and not lexeme = any (v_dropped))
      union all
      -- Pairs of characters have no place.
      select array[lexeme], 20000 + row_number() over (order by lexeme)
      from unnest(v_own) as pair (lexeme, positions, weights)
      where positions is null
    ) as term
    group by lexemes
    order by min(place)
    limit 32);
end
$$;
comment on function loom._search_terms(text[], text) is
  'The words of a query without stop words, each with what it becomes in the configurations asked; the first 32.';
