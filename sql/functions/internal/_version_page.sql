create or replace function loom._version_page(p_row loom.memory, p_before bigint, p_limit integer)
returns setof loom.memory_version
language plpgsql volatile rows 50
as $$
begin
  return query select * from loom.memory_version
  where org = p_row.org and memory_id = p_row.memory_id and version < p_before
  order by version desc
  limit p_limit;
end
$$;
comment on function loom._version_page(loom.memory, bigint, integer) is
  'Versions of a row before a position, newest first.';
