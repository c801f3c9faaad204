create or replace function loom._night_weaving_default() returns boolean
language plpgsql stable
as $$
begin
  return exists (select from loom.setting where name = 'night_weaving_default' and value = 'on');
end
$$;
comment on function loom._night_weaving_default() is 'Whether looms weave at night where neither they nor their namespaces say.';
