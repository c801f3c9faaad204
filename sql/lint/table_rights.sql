-- Relations belong to loom_owner, and only the owners of functions have rights on them. The one
-- exception are the views for operators, which loom_operator may read.
select c.oid::regclass::text as object, 'owner is ' || c.relowner::regrole as finding
from pg_catalog.pg_class c
where c.relnamespace = 'loom'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
  and c.relowner <> 'loom_owner'::regrole
union all
select rights.object, grantee::regrole || ' has ' || privilege_type
from (
  select c.oid::regclass::text, c.relkind, acl.grantee, acl.privilege_type
  from pg_catalog.pg_class c, aclexplode(c.relacl) acl
  where c.relnamespace = 'loom'::regnamespace
  union all
  select c.oid::regclass || '.' || a.attname, c.relkind, acl.grantee, acl.privilege_type
  from pg_catalog.pg_class c
  join pg_catalog.pg_attribute a on a.attrelid = c.oid,
    aclexplode(a.attacl) acl
  where c.relnamespace = 'loom'::regnamespace
) as rights (object, relkind, grantee, privilege_type)
where grantee <> 0
  and grantee::regrole::text not in ('loom_owner', 'loom_api', 'loom_scheduler', 'loom_search')
  and not (grantee::regrole::text = 'loom_operator' and relkind = 'v' and privilege_type = 'SELECT')
order by 1, 2;
