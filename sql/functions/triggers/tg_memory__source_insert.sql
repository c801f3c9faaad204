create or replace function loom.tg_memory__source_insert() returns trigger
language plpgsql volatile
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  perform loom._sources_changed(array(
    select row(org, namespace, user_id, bit_xor(coalesce(part, 0::bit(128))), sum(sign * counts),
      bool_or(moment), bool_or(label = 'structured_profile'), max(row_state) filter (where label = 'structured_profile'),
      coalesce(bit_xor(part) filter (where folds), 0::bit(128)), coalesce(sum(sign * counts) filter (where folds), 0),
      coalesce(bool_or(moment) filter (where folds), false),
      bool_or(label = 'consolidated_profile'), max(row_state) filter (where label = 'consolidated_profile')
      )::loom.source_change
    from (
      select org, namespace, user_id, source_part as part, 1 as sign, (source_part is not null)::integer as counts,
        memory_type in ('preference', 'decision') as folds, changes_at is not null as moment,
        case when agent = '-' and session_id = '-' and memory_key in ('structured_profile', 'consolidated_profile')
          then memory_key else '' end as label,
        case when memory_key in ('structured_profile', 'consolidated_profile') then loom._row_state(new_row) end as row_state
      from new_rows as new_row
    ) as changed
    where user_id <> '-' and (part is not null or moment or label <> '')
    group by org, namespace, user_id
    order by org, namespace, user_id));
  return null;
end
$$;
comment on function loom.tg_memory__source_insert() is
  'After each insert of memory rows: keeps their users'' source digests. By statement, since one by row grows with the square of a large transaction''s rows; with its caller''s rights, so that no row changes behind policies that hide the state.';

-- Made once: making it anew at each upgrade would make writers wait.
do $$
begin
  perform from pg_catalog.pg_trigger where tgrelid = 'loom.memory'::regclass and tgname = 'memory_source_insert';
  if not found then
    create trigger memory_source_insert after insert on loom.memory
      referencing new table as new_rows
      for each statement execute function loom.tg_memory__source_insert();
  end if;
end
$$;
