-- Text in the key of a unique index compares by bytes: collation "C".
select i.indexrelid::regclass::text as object,
  'column ' || position || ' has collation ' || l.collname || ', not C' as finding
from pg_catalog.pg_index i
join pg_catalog.pg_class c on c.oid = i.indexrelid
cross join lateral unnest(i.indcollation::oid[]) with ordinality as part (collation_oid, position)
join pg_catalog.pg_collation l on l.oid = part.collation_oid
where c.relnamespace = 'loom'::regnamespace and i.indisunique and l.collname <> 'C'
order by 1, 2;
