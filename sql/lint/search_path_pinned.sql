-- A caller's path must not decide what a name means: every function that is entered from outside, by a client,
-- a trigger or whatever else is stored with a table, a view or a type, pins it. What only those call runs under
-- theirs: a pin of its own would cost each call again.
select p.oid::regprocedure::text as object,
  'search_path is ' || coalesce(quote_literal(substr(path.setting, 13)), 'not pinned')
    || case when entry.is_one then ', not ''loom, pg_temp''' else ' in a function that only Loom''s own call' end as finding
from pg_catalog.pg_proc p
cross join lateral (
  select p.prosecdef or p.prorettype = 'trigger'::regtype or exists (
    select from aclexplode(p.proacl) as held
    where held.grantee not in (p.proowner, 'loom_owner'::regrole, 'loom_api'::regrole, 'loom_scheduler'::regrole,
      'loom_search'::regrole)
  ) or exists (
    select from pg_catalog.pg_depend
    where refclassid = 'pg_proc'::regclass and refobjid = p.oid and classid <> 'pg_proc'::regclass
  ) as is_one
) entry
left join lateral (
  select setting from unnest(p.proconfig) setting where setting ^@ 'search_path='
) path on true
where p.pronamespace = 'loom'::regnamespace
  and path.setting is distinct from case when entry.is_one then 'search_path=loom, pg_temp' end
order by 1;
