create or replace function loom.tg_memory__text_update() returns trigger
language plpgsql volatile
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_changed loom.memory[];
begin
  -- Most updates change no text: they end here.
  v_changed := array(
    select row(new_row.*)::loom.memory
    from new_rows as new_row join old_rows as old_row using (org, memory_id)
    where (new_row.content_sha256, new_row.memory_type, new_row.source_class, new_row.tags)
      is distinct from (old_row.content_sha256, old_row.memory_type, old_row.source_class, old_row.tags)
      or loom._is_searchable(new_row) <> loom._is_searchable(old_row)
    order by org, memory_id);
  if cardinality(v_changed) > 0 then
    perform loom._text_changed(v_changed);
  end if;
  return null;
end
$$;
comment on function loom.tg_memory__text_update() is
  'After each update of memory rows: what those are found by whose text, type, class, tags or life changed, in the same transaction. With its caller''s rights, so that no row changes behind policies.';

-- Made once: making it anew at each upgrade would make writers wait.
do $$
begin
  perform from pg_catalog.pg_trigger where tgrelid = 'loom.memory'::regclass and tgname = 'memory_text_update';
  if not found then
    create trigger memory_text_update after update on loom.memory
      referencing old table as old_rows new table as new_rows
      for each statement execute function loom.tg_memory__text_update();
  end if;
end
$$;
