-- Every operation is one function loom.<name>(p_request jsonb) returns jsonb, owned by loom_api, that
-- runs with its owner's rights. The first thing it does is to call loom._enter with its own wire name,
-- as the first statement or as the first initial value of a variable.
select o.op as object, problem.finding
from loom.operation o
left join pg_catalog.pg_proc p
  on p.pronamespace = 'loom'::regnamespace and p.proname = o.function_name
cross join lateral (
  select 'function ' || o.function_name || ' is missing' where p.oid is null
  union all
  select 'owner is ' || p.proowner::regrole::text where p.proowner <> 'loom_api'::regrole
  union all
  select 'is not security definer' where not p.prosecdef
  union all
  select 'signature is not (p_request jsonb) returns jsonb'
  where pg_get_function_arguments(p.oid) <> 'p_request jsonb' or p.prorettype <> 'jsonb'::regtype
  union all
  select 'does not begin with loom._enter(''' || o.op || ''', …)'
  where substring(
    regexp_replace(p.prosrc, '--[^\n]*', '', 'g') from
    '(?i)^\s*(?:declare(?:\s+\w+\s+[\w.]+(?:\[\])?\s*;)*\s+(?:\w+\s+[\w.]+\s*:=\s*|begin\s+[^;(]*)|begin\s+[^;(]*)loom\._enter\(''([^'']*)'''
  ) is distinct from o.op and p.oid is not null
) as problem (finding)
order by 1, 2;
