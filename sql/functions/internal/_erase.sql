create or replace function loom._erase(p_plane loom.erasure_plane, p_caller loom.caller, p_namespaces text[])
returns bigint
language plpgsql volatile
as $$
declare
  v_count bigint;
begin
  execute 'delete ' || loom._plane_rows(p_plane.table_name, p_plane.condition, p_plane.by_namespace)
  using p_caller.org, p_caller.user_id, p_namespaces;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
comment on function loom._erase(loom.erasure_plane, loom.caller, text[]) is 'Removes a user''s rows of one plane; how many.';
