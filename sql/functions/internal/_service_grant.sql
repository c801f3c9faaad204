create or replace function loom._service_grant(p_org text) returns jsonb
language plpgsql stable
as $$
declare
  v_grant jsonb;
begin
  if pg_has_role(session_user, 'loom_owner', 'member') then
    return jsonb_build_object('actor', 'operator:' || session_user, 'role', 'admin');
  end if;
  select jsonb_build_object('actor', 'service:' || session_user, 'role', case
      when pg_has_role(session_user, 'loom_admin', 'usage') then 'admin'
      when pg_has_role(session_user, 'loom_writer', 'usage') then 'writer'
      when pg_has_role(session_user, 'loom_viewer', 'usage') then 'viewer'
    end) into v_grant
  from loom.service_binding
  where org in (p_org, '*') and role_name = session_user and role_oid = to_regrole(quote_ident(session_user));
  if v_grant ->> 'role' is null then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'database role not bound to the org')::text,
      hint = 'An operator binds a role to an org with loom.service_bind.';
  end if;
  return v_grant;
end
$$;
comment on function loom._service_grant(text) is
  'What the database login of a direct caller may do in an org: a member of loom_owner is an operator, other logins need a binding. Judged by session_user, which a client cannot change. LM302 when unbound.';
