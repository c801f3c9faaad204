-- Schema loom holds no function that no file declares, and one function of each declared name: a
-- second signature is what a changed file has left behind. What an extension made is not counted.
select p.oid::regprocedure::text as object,
  case when p.proname = any (declared.names) then 'stands beside another signature of the name'
    else 'no file declares it' end as finding
from pg_catalog.pg_proc p
cross join (
  select string_to_array(current_setting('loom_lint.declared_functions'), ',') as names
) declared
where p.pronamespace = 'loom'::regnamespace
  and not exists (
    select from pg_catalog.pg_depend d
    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
  )
  and (
    not p.proname = any (declared.names)
    or exists (
      select from pg_catalog.pg_proc other
      where other.pronamespace = p.pronamespace and other.proname = p.proname and other.oid <> p.oid
    )
  )
order by 1;
