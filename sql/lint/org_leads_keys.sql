-- In a table with an org column, the primary key, every unique index and every foreign key lead with
-- org: look-ups stay cheap under row-level security and the schema can be spread by org.
with owned as (
  select c.oid, a.attnum
  from pg_catalog.pg_class c
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'org' and not a.attisdropped
  where c.relnamespace = 'loom'::regnamespace and c.relkind in ('r', 'p')
)
select owned.oid::regclass::text as object, 'has no primary key' as finding
from owned
where not exists (
  select from pg_catalog.pg_constraint k where k.conrelid = owned.oid and k.contype = 'p'
)
union all
select owned.oid::regclass::text, 'unique index ' || i.indexrelid::regclass || ' does not lead with org'
from owned
join pg_catalog.pg_index i on i.indrelid = owned.oid
where i.indisunique and i.indkey[0] <> owned.attnum
union all
select owned.oid::regclass::text, 'foreign key ' || k.conname || ' does not lead with org'
from owned
join pg_catalog.pg_constraint k on k.conrelid = owned.oid
where k.contype = 'f' and k.conkey[1] <> owned.attnum
order by 1, 2;
