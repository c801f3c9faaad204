create or replace function loom._memory_words(p_row loom.memory, p_language text) returns tsvector
language plpgsql stable
as $$
begin
  return setweight(loom._words(p_language, loom._search_body(p_row)), 'A')
    || setweight(loom._words(p_language, translate(p_row.memory_key, '.:', '  ')), 'B')
    || case when p_row.tags = '{}' then '' else setweight(loom._words(p_language, array_to_string(p_row.tags, ' ')), 'C') end
    || array_to_tsvector(loom._scope_lexemes(p_row));
end
$$;
comment on function loom._memory_words(loom.memory, text) is
  'What a row is found by: the words of its value, of its key and of its tags, in falling weight, and its scope lexemes.';
