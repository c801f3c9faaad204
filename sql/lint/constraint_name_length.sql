-- Names of constraints and indexes are part of the contract: 50 characters at most, so that no tool
-- and no later prefix cuts them.
select k.conrelid::regclass::text as object,
  'constraint name ' || k.conname || ' is longer than 50 characters' as finding
from pg_catalog.pg_constraint k
where k.connamespace = 'loom'::regnamespace and char_length(k.conname) > 50
union all
select i.indrelid::regclass::text, 'index name ' || c.relname || ' is longer than 50 characters'
from pg_catalog.pg_index i
join pg_catalog.pg_class c on c.oid = i.indexrelid
where c.relnamespace = 'loom'::regnamespace and char_length(c.relname) > 50
order by 1, 2;
