create or replace function loom._ensure_namespace(p_caller loom.caller) returns text
language plpgsql volatile
as $$
declare
  v_org text := p_caller.org;
  v_namespace text := p_caller.namespace;
begin
  if v_namespace is null then
    return null;
  end if;
  perform from loom.namespace where org = v_org and name = v_namespace;
  if found then
    return v_namespace;
  end if;
  -- Rivals with the same first write wait for one another here and make one row.
  perform loom._ensure_org(v_org, p_caller.actor, p_caller.called_at);
  insert into loom.namespace (org, name, created_at, created_by, updated_at, updated_by)
  values (v_org, v_namespace, p_caller.called_at, p_caller.actor, p_caller.called_at, p_caller.actor)
  on conflict (org, name) do nothing;
  return v_namespace;
end
$$;
comment on function loom._ensure_namespace(loom.caller) is
  'Makes the caller''s namespace (and its org, where the caller may name one that does not exist) with its first write; returns its name.';
