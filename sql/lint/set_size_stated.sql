-- A function that returns a set states how many rows to expect. Left out it is a thousand, and a join
-- with it then reads the whole table instead of a few rows by index.
select p.oid::regprocedure::text as object, 'does not state its rows' as finding
from pg_catalog.pg_proc p
where p.pronamespace = 'loom'::regnamespace and p.proretset and p.prorows = 1000
order by 1;
