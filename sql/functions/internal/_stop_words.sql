create or replace function loom._stop_words(p_words text[]) returns text[]
language plpgsql stable
set search_path = loom, pg_temp
as $$
declare
  v_dropped text[];
begin
  -- One language's, not every one's: what is a mere particle in one is a noun in another. One word alone
  -- says no language, so that only English then counts.
  select dropped into v_dropped from (
    select d.dictname, array(
      select word from unnest(p_words) as word where ts_lexize(d.oid::regdictionary, word) = '{}') as dropped
    from pg_catalog.pg_ts_dict as d
    join pg_catalog.pg_ts_template as t on t.oid = d.dicttemplate and t.tmplname = 'snowball'
    -- Half of them have no list of stop words, and to ask them is to stem each word for nothing.
    where d.dictnamespace = 'pg_catalog'::regnamespace and strpos(d.dictinitoption, 'stopwords') > 0
  ) as judged
  where cardinality(dropped) >= 2 or dictname = 'english_stem'
  order by cardinality(dropped) desc, dictname = 'english_stem' desc, dictname
  limit 1;
  return coalesce(v_dropped, '{}');
end
$$;
comment on function loom._stop_words(text[]) is
  'Which of a question''s words are stop words: those that the server''s dictionary drops which drops the most of them.';
