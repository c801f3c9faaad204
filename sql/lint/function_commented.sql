-- Every function has a comment: it is the only documentation, and the reference is made from it.
select p.oid::regprocedure::text as object, 'has no comment' as finding
from pg_catalog.pg_proc p
where p.pronamespace = 'loom'::regnamespace
  and coalesce(obj_description(p.oid, 'pg_proc'), '') = ''
order by 1;
