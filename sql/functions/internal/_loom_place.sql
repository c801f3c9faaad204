create or replace function loom._loom_place(p_caller loom.caller, p_request jsonb) returns loom.caller
language plpgsql volatile
as $$
declare
  v_org text := p_caller.org;
  v_id uuid := loom._uuid(p_request, 'namespaceId');
  v_name text;
begin
  if v_id is not null then
    select name into v_name from loom.namespace where org = v_org and namespace_id = v_id;
    if p_caller.bound_namespace is not null and v_name is distinct from p_caller.bound_namespace then
      raise exception using errcode = 'LM302', message = 'The caller may not do this.',
        detail = jsonb_build_object('reason', 'namespace is not the token''s')::text,
        hint = 'This token reaches only its own namespace.';
    end if;
    if v_name is null or v_name <> loom._string(p_request, 'namespace') then
      raise exception using errcode = 'LM001', message = 'The request is not valid.',
        detail = jsonb_build_object('field', 'namespaceId', 'reason', 'is no namespace of the org, or not the one named')::text,
        hint = 'namespace.list tells the ids. A new namespace is named by its name.';
    end if;
    p_caller.namespace := v_name;
  end if;
  if p_caller.namespace is null then
    raise exception using errcode = 'LM003', message = 'The request does not say whose data it means.',
      detail = jsonb_build_object('field', 'namespaceId')::text, hint = 'Name the field, or namespace.';
  end if;
  return p_caller;
end
$$;
comment on function loom._loom_place(loom.caller, jsonb) is
  'The caller in the namespace that the request means: by namespaceId, by name, or the token''s. Errors: LM001, LM003, LM302.';
