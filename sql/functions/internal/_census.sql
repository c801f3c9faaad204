create or replace function loom._census(p_caller loom.caller, p_namespaces text[]) returns void
language plpgsql volatile
as $$
declare
  v_plane loom.erasure_plane;
  v_left boolean;
begin
  for v_plane in select * from loom.erasure_plane order by place loop
    execute 'select exists (select '
      || loom._plane_rows(v_plane.table_name, v_plane.condition, v_plane.by_namespace) || ')'
    into v_left using p_caller.org, p_caller.user_id, p_namespaces;
    if v_left then
      raise exception using errcode = 'LM502', message = 'The erasure left a row; nothing was removed.',
        detail = jsonb_build_object('plane', v_plane.plane)::text,
        hint = 'Try again; if it stays, an operator must look at this plane.';
    end if;
  end loop;
end
$$;
comment on function loom._census(loom.caller, text[]) is 'LM502 when a plane still holds a row of the user: an erasure fails closed.';
