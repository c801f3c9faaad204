-- No deferrable constraint or trigger, no foreign key that sets columns to null or default, none that
-- cascades an update: none of these can be spread by org.
select k.conrelid::regclass::text as object, k.conname || ' ' || problem.finding as finding
from pg_catalog.pg_constraint k
cross join lateral (
  select 'is deferrable' where k.condeferrable
  union all
  select 'sets columns on delete' where k.contype = 'f' and k.confdeltype in ('n', 'd')
  union all
  select 'changes rows on update' where k.contype = 'f' and k.confupdtype in ('c', 'n', 'd')
) as problem (finding)
where k.connamespace = 'loom'::regnamespace
union all
select t.tgrelid::regclass::text, 'trigger ' || t.tgname || ' is deferrable'
from pg_catalog.pg_trigger t
join pg_catalog.pg_class c on c.oid = t.tgrelid
where c.relnamespace = 'loom'::regnamespace and not t.tgisinternal and t.tgdeferrable
order by 1, 2;
