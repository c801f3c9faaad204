create or replace function loom._blacklist_namespace(p_caller loom.caller, p_request jsonb) returns text
language plpgsql immutable
as $$
begin
  if coalesce(loom._choice(p_request, 'scope', '{namespace,org}'), 'namespace') = 'namespace' then
    if p_caller.namespace is null then
      raise exception using errcode = 'LM003', message = 'The request does not say whose data it means.',
        detail = jsonb_build_object('field', 'namespace')::text, hint = 'Name the field.';
    end if;
    return p_caller.namespace;
  end if;
  perform loom._org_wide(p_caller);
  return '';
end
$$;
comment on function loom._blacklist_namespace(loom.caller, jsonb) is
  'The scope a blacklist request means: the namespace, or empty for the org, which needs a caller without a namespace bound (LM302). LM003 where no namespace is named.';
