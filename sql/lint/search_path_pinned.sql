-- Every function pins its search path: a caller's path must not decide what a name means.
select p.oid::regprocedure::text as object,
  'search_path is ' || coalesce(quote_literal(substr(path.setting, 13)), 'not pinned')
    || ', not ''loom, pg_temp''' as finding
from pg_catalog.pg_proc p
left join lateral (
  select setting from unnest(p.proconfig) setting where setting ^@ 'search_path='
) path on true
where p.pronamespace = 'loom'::regnamespace
  and path.setting is distinct from 'search_path=loom, pg_temp'
order by 1;
