create or replace function loom.tg_memory__text_delete() returns trigger
language plpgsql volatile
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  delete from loom.memory_text as gone using old_rows as old_row
  where gone.org = old_row.org and gone.memory_id = old_row.memory_id;
  return null;
end
$$;
comment on function loom.tg_memory__text_delete() is
  'After each delete of memory rows: nothing is found by them, nor by their vectors, which go with their texts.';

-- Made once: making it anew at each upgrade would make writers wait.
do $$
begin
  perform from pg_catalog.pg_trigger where tgrelid = 'loom.memory'::regclass and tgname = 'memory_text_delete';
  if not found then
    create trigger memory_text_delete after delete on loom.memory
      referencing old table as old_rows
      for each statement execute function loom.tg_memory__text_delete();
  end if;
end
$$;
