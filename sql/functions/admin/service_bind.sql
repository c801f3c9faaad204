create or replace function loom.service_bind(p_role name, p_org text) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_now timestamptz := loom._now();
  v_actor text := 'operator:' || session_user;
  v_role_oid oid;
begin
  if p_org is null or p_org = '-' then
    raise exception using errcode = 'LM003', message = 'The request does not say whose data it means.',
      detail = jsonb_build_object('field', 'p_org')::text, hint = 'Name the org, or * for every org.';
  end if;
  select oid into v_role_oid from pg_catalog.pg_roles where rolname = p_role;
  if not found then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_role', 'reason', 'there is no such role')::text,
      hint = 'Create the login first and grant it loom_viewer, loom_writer or loom_admin.';
  end if;
  perform loom._identifier(jsonb_build_object('p_org', p_org), 'p_org');
  perform set_config('loom.org', p_org, true);
  if p_org <> '*' then
    perform loom._ensure_org(p_org, v_actor, v_now);
  end if;
  insert into loom.service_binding (org, role_oid, role_name, bound_at, bound_by)
  values (p_org, v_role_oid, p_role, v_now, v_actor)
  on conflict (org, role_oid) do update
    set role_name = excluded.role_name, bound_at = excluded.bound_at, bound_by = excluded.bound_by;
  perform loom._audit(p_org, v_actor, v_now, 'service.bind', jsonb_build_object('role', p_role));
end
$$;
comment on function loom.service_bind(name, text) is
'Lets a database login call operations for an org (made when new), or for every org with *. For the migration login alone; audited.

Errors: LM001 no such role, LM003 no org, LM406 org name too long.';
