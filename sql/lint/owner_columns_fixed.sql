-- The columns that say whose a row is have no UPDATE grant in a table with an org column.
select a.attrelid::regclass || '.' || a.attname as object,
  owners.role || ' may update it' as finding
from pg_catalog.pg_class c
join pg_catalog.pg_attribute org on org.attrelid = c.oid and org.attname = 'org' and not org.attisdropped
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
cross join (values ('loom_api'), ('loom_scheduler'), ('loom_search')) as owners (role)
where c.relnamespace = 'loom'::regnamespace and c.relkind in ('r', 'p')
  and a.attname in ('org', 'namespace', 'agent', 'user_id', 'session_id', 'run_id', 'block_key')
  and has_column_privilege(owners.role, c.oid, a.attnum, 'update')
order by 1, 2;
