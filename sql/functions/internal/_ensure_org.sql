create or replace function loom._ensure_org(p_org text, p_actor text, p_at timestamptz) returns uuid
language plpgsql volatile
as $$
declare
  v_org_id uuid;
begin
  select org_id into v_org_id from loom.org where name = p_org;
  if found then
    return v_org_id;
  end if;
  insert into loom.org (name, created_at, created_by) values (p_org, p_at, p_actor)
  on conflict (name) do nothing;
  select org_id into v_org_id from loom.org where name = p_org;
  return v_org_id;
end
$$;
comment on function loom._ensure_org(text, text, timestamptz) is
  'The uuid of an org, which is made when it is not there; safe when several callers make it at once.';
