create or replace function loom._stop_words(p_words text[]) returns text[]
language plpgsql stable
as $$
declare
  v_dropped text[];
begin
  -- One language's, not every one's: what is a mere particle in one is a noun in another. One word alone
  -- says no language, so that only English then counts.
  select dropped into v_dropped from (
    select language, array_agg(word) as dropped from loom.stop_word where word = any (p_words) group by language
  ) as judged
  where cardinality(dropped) >= 2 or language = 'english'
  order by cardinality(dropped) desc, language = 'english' desc, language
  limit 1;
  return coalesce(v_dropped, '{}');
end
$$;
comment on function loom._stop_words(text[]) is
  'Which of a question''s words are stop words: those in the list of the one language whose list has the most of them.';
