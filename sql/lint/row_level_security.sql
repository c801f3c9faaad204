-- Every table has row-level security switched on, not forced, and policies that name their roles.
-- (FORCE breaks online moves of shards; operations do not own tables, so policies bind them without.)
select c.oid::regclass::text as object, problem.finding
from pg_catalog.pg_class c
cross join lateral (
  select 'row-level security is off' where not c.relrowsecurity
  union all
  select 'row-level security is forced' where c.relforcerowsecurity
  union all
  select 'has no policy'
  where not exists (select from pg_catalog.pg_policy where polrelid = c.oid)
  union all
  select 'policy ' || polname || ' is for every role'
  from pg_catalog.pg_policy where polrelid = c.oid and 0 = any (polroles)
) as problem (finding)
where c.relnamespace = 'loom'::regnamespace and c.relkind in ('r', 'p')
order by 1, 2;
