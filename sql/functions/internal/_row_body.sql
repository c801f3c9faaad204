create or replace function loom._row_body(p_row loom.memory) returns text
language plpgsql immutable
set search_path = loom, pg_temp
as $$
begin
  if jsonb_typeof(p_row.value) = 'string' then
    return p_row.value #>> '{}';
  end if;
  return loom._canonical(p_row.value, '$.value');
end
$$;
comment on function loom._row_body(loom.memory) is 'What a row renders: a string as its text, any other value as canonical JSON.';
