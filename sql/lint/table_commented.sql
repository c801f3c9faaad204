-- Every table and view has a comment.
select c.oid::regclass::text as object, 'has no comment' as finding
from pg_catalog.pg_class c
where c.relnamespace = 'loom'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
  and coalesce(obj_description(c.oid, 'pg_class'), '') = ''
order by 1;
