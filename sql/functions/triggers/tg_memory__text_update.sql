create or replace function loom.tg_memory__text_update() returns trigger
language plpgsql volatile
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  perform loom._text_changed(new);
  return null;
end
$$;
comment on function loom.tg_memory__text_update() is
  'After the update of a memory row whose text, type, class, tags or life changed: what it is found by, in the same transaction. With its caller''s rights, so that no row changes behind policies.';

-- Made once: making it anew at each upgrade would make writers wait. For each row and with a condition, since most
-- updates change no text: they cost no call, and no list of their rows.
do $$
begin
  perform from pg_catalog.pg_trigger
  where tgrelid = 'loom.memory'::regclass and tgname = 'memory_text_update' and tgqual is not null;
  if not found then
    drop trigger if exists memory_text_update on loom.memory;
    create trigger memory_text_update after update on loom.memory
      for each row
      when ((new.content_sha256, new.memory_type, new.source_class, new.tags)
          is distinct from (old.content_sha256, old.memory_type, old.source_class, old.tags)
        or (new.deleted_at is null and new.redacted_at is null) <> (old.deleted_at is null and old.redacted_at is null))
      execute function loom.tg_memory__text_update();
  end if;
end
$$;
