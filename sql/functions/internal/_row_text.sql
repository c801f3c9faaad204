create or replace function loom._row_text(p_value jsonb) returns text
language sql immutable parallel safe
as $$
  select case jsonb_typeof(p_value) when 'string' then p_value #>> '{}' else loom._canonical(p_value, '$.value') end
$$;
comment on function loom._row_text(jsonb) is 'A value as it renders: a string is its text, any other value canonical JSON.';
