create or replace function loom._namespace_due(p_schema loom.profile_schema, p_kind text, p_at timestamptz)
returns boolean
language plpgsql stable
as $$
declare
  v_org text := p_schema.org;
  v_namespace text := p_schema.namespace;
  v_rev bigint := p_schema.schema_rev;
begin
  if p_schema.json_schema is null or p_schema.wait_until > p_at then
    return false;
  end if;
  if loom._due_longest(v_org, v_namespace, p_kind, loom._model_calls(v_org), p_at) is not null then
    return true;
  end if;
  perform from loom.build
  where org = v_org and namespace = v_namespace and kind = p_kind and schema_rev < v_rev and lease_id is null
  order by schema_rev limit 1;
  return found;
end
$$;
comment on function loom._namespace_due(loom.profile_schema, text, timestamptz) is
  'Whether a claim would find something to look at in a namespace: two look-ups by index, however many users it has.';
