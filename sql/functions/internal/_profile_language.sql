create or replace function loom._profile_language(p_text text, p_words text[]) returns text
language plpgsql stable parallel safe
as $$
declare
  v_kana integer := regexp_count(p_text, E'[\\u3041-\\u30ff]');
  v_han integer := regexp_count(p_text, E'[\\u3400-\\u4dbf\\u4e00-\\u9fff]');
  v_language text;
begin
  -- One scale for all: a common word, a word in Cyrillic letters, two characters of Chinese or Japanese.
  select case when count(*) = 1 then min(language) end into v_language
  from (
    select language, rank() over (order by points desc) as place
    from (
      select language, count(*)::numeric as points
      from unnest(p_words) as said (word) join loom.profile_word using (word)
      where kind = 'common' group by language
      union all
      -- Ukrainian and Belarusian have letters that Russian has not.
      select 'ru', count(*) from unnest(p_words) as word
      where word ~ '[а-яё]' and p_text !~ '[іїєґўІЇЄҐЎ]' having count(*) > 0
      union all
      select case when v_kana > 0 then 'ja' else 'zh' end, (v_kana + v_han) / 2.0 where v_kana + v_han > 0
    ) as scored
  ) as ranked
  where place = 1;
  return v_language;
end
$$;
comment on function loom._profile_language(text, text[]) is
  'The language a text is written in, by its script and by common words: en, ru, de, fr, es, ja or zh; null where two are as likely or none is.';
