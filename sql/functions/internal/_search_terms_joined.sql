create or replace function loom._search_terms_joined(
  p_languages text[], p_query text, p_own tsvector, p_dropped text[]
) returns tsquery[]
language plpgsql stable
as $$
begin
  return array(
    select loom._any_lexeme(lexemes) from (
      -- A word stands at the same place in every configuration; one that the namespace's own drops counts in none.
      select array_agg(distinct lexeme order by lexeme) as lexemes, position as place
      from unnest(p_languages) with ordinality as asked (language, number)
      cross join lateral unnest(loom._words(language, p_query)) as word (lexeme, positions, weights)
      cross join lateral unnest(positions) as position
      group by position
      having bool_or(number = 1 and not lexeme = any (p_dropped))
      union all
      -- Pairs of characters have no place.
      select array[lexeme], 20000 + row_number() over (order by lexeme)
      from unnest(p_own) as pair (lexeme, positions, weights)
      where positions is null
    ) as term
    group by lexemes
    order by min(place)
    limit 32);
end
$$;
comment on function loom._search_terms_joined(text[], text, tsvector, text[]) is
  'The words of a query where several configurations are asked, given what the first makes of it and which words it drops: each word is what it becomes in any of them.';
