create or replace function loom._text_behind() returns loom.memory_text
language plpgsql stable
as $$
declare
  v_behind loom.memory_text;
begin
  -- What nothing made yet comes first: no search finds it.
  select * into v_behind from loom.memory_text where language = '' order by org, namespace limit 1;
  if found then
    return v_behind;
  end if;
  -- From one configuration of a namespace to the next by the index, however many rows each has.
  with recursive standing as (
    (select org, namespace, language from loom.memory_text order by org, namespace, language limit 1)
    union all
    select next.org, next.namespace, next.language from standing
    cross join lateral (
      select said.org, said.namespace, said.language from loom.memory_text as said
      where (said.org, said.namespace, said.language) > (standing.org, standing.namespace, standing.language)
      order by said.org, said.namespace, said.language
      limit 1
    ) as next
  )
  select standing.org, standing.namespace, standing.language
  into v_behind.org, v_behind.namespace, v_behind.language
  from standing
  left join loom.namespace as own on own.org = standing.org and own.name = standing.namespace
  where standing.language <> coalesce(own.text_search_language, 'simple')
  limit 1;
  return v_behind;
end
$$;
comment on function loom._text_behind() is
  'A namespace some of whose rows are found by another text search configuration than its own, and which; null: there is none.';
