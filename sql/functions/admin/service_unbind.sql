create or replace function loom.service_unbind(p_role name, p_org text) returns boolean
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_found boolean;
begin
  perform set_config('loom.org', p_org, true);
  delete from loom.service_binding where org = p_org and role_name = p_role returning true into v_found;
  if v_found then
    perform loom._audit(p_org, 'operator:' || session_user, loom._now(), 'service.unbind',
      jsonb_build_object('role', p_role));
  end if;
  return coalesce(v_found, false);
end
$$;
comment on function loom.service_unbind(name, text) is
'Takes back a binding that loom.service_bind made; true when there was one. For the migration login alone; audited.';
