create or replace function loom.tg_memory__text_insert() returns trigger
language plpgsql volatile
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  insert into loom.memory_text (org, memory_id, namespace, user_id, plane, language, content_sha256, words)
  select new_row.org, new_row.memory_id, new_row.namespace, new_row.user_id, loom._plane_of(new_row.memory_type),
    language, new_row.content_sha256, loom._memory_words(new_row, language)
  from new_rows as new_row
  cross join lateral (select loom._namespace_language(new_row.org, new_row.namespace) as language) as place
  where loom._is_searchable(new_row)
  order by new_row.org, new_row.memory_id;
  if loom._embedding_wanted() then
    perform loom._embedding_list(array(
      select row(new_row.*)::loom.memory from new_rows as new_row where loom._is_searchable(new_row)));
  end if;
  return null;
end
$$;
comment on function loom.tg_memory__text_insert() is
  'After each insert of memory rows: what they are found by, in the same transaction. With its caller''s rights, so that no row changes behind policies.';

-- Made once: making it anew at each upgrade would make writers wait.
do $$
begin
  perform from pg_catalog.pg_trigger where tgrelid = 'loom.memory'::regclass and tgname = 'memory_text_insert';
  if not found then
    create trigger memory_text_insert after insert on loom.memory
      referencing new table as new_rows
      for each statement execute function loom.tg_memory__text_insert();
  end if;
end
$$;
