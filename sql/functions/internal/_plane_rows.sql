create or replace function loom._plane_rows(p_table name, p_condition text, p_by_namespace boolean) returns text
language plpgsql stable parallel safe
as $$
begin
  -- Takes parts, not the row: that would hide from static analysis that text gets into a statement.
  return format('from loom.%I where org = $1 and %s and ($3 is null or %s)', p_table, p_condition,
    case when p_by_namespace then 'namespace = any ($3)' else 'true' end);
end
$$;
comment on function loom._plane_rows(name, text, boolean) is
  'A user''s rows of one of loom.erasure_plane, from where on in a statement: $1 is the org, $2 the user, $3 the namespaces, null for all.';
