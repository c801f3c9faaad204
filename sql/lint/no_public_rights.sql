-- PUBLIC has no right on the schema, on a relation or column in it, or on a function in it.
select object, 'PUBLIC has ' || privilege_type as finding
from (
  select p.oid::regprocedure::text, acl.grantee, acl.privilege_type
  from pg_catalog.pg_proc p,
    aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) acl
  where p.pronamespace = 'loom'::regnamespace
  union all
  select c.oid::regclass::text, acl.grantee, acl.privilege_type
  from pg_catalog.pg_class c, aclexplode(c.relacl) acl
  where c.relnamespace = 'loom'::regnamespace
  union all
  select c.oid::regclass || '.' || a.attname, acl.grantee, acl.privilege_type
  from pg_catalog.pg_class c
  join pg_catalog.pg_attribute a on a.attrelid = c.oid,
    aclexplode(a.attacl) acl
  where c.relnamespace = 'loom'::regnamespace
  union all
  select n.nspname, acl.grantee, acl.privilege_type
  from pg_catalog.pg_namespace n, aclexplode(n.nspacl) acl
  where n.nspname = 'loom'
) as rights (object, grantee, privilege_type)
where grantee = 0
order by 1, 2;
