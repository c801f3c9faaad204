create or replace function loom._search_languages(p_org text, p_namespace text) returns text[]
language plpgsql stable
as $$
declare
  v_current text := loom._namespace_language(p_org, p_namespace);
begin
  return v_current || array(
    with recursive standing as (
      -- Rows that nothing made yet have none.
      (select language from loom.memory_text where org = p_org and namespace = p_namespace and language > ''
        order by language limit 1)
      union all
      select (
        select next.language from loom.memory_text as next
        where org = p_org and namespace = p_namespace and next.language > standing.language
        order by next.language limit 1)
      from standing where standing.language is not null
    )
    select language::text from standing where language <> v_current);
end
$$;
comment on function loom._search_languages(text, text) is
  'The configurations in which a namespace is to be asked: its own first, then those in which rows still stand since it was another.';
