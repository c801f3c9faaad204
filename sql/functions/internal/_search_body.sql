create or replace function loom._search_body(p_row loom.memory) returns text
language plpgsql immutable
as $$
begin
  if jsonb_typeof(p_row.value) = 'string' then
    return p_row.value #>> '{}';
  end if;
  return array_to_string(loom._leaves(p_row.value), ' ');
end
$$;
comment on function loom._search_body(loom.memory) is 'A value as text: a string as it is, else every string, number and key in it.';
