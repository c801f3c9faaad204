create or replace function loom._build_due(
  p_org text, p_namespace text, p_kind text, p_rev bigint, p_model_calls boolean, p_at timestamptz
) returns setof text
language plpgsql volatile rows 200
as $$
begin
  if p_model_calls then
    return query
      select user_id::text from loom.build
      where org = p_org and namespace = p_namespace and kind = p_kind and due_at <= p_at
      order by due_at limit 200;
  else
    return query
      select user_id::text from loom.build
      where org = p_org and namespace = p_namespace and kind = p_kind and due_at <= p_at and modelless
      order by due_at limit 200;
  end if;
  return query
    select user_id::text from loom.build
    -- One that is leased is looked at by whoever ends the lease, or when it falls due.
    where org = p_org and namespace = p_namespace and kind = p_kind and schema_rev < p_rev and lease_id is null
    order by schema_rev limit 200;
end
$$;
comment on function loom._build_due(text, text, text, bigint, boolean, timestamptz) is
  'Users of a namespace to look at: those whose build is due, longest due first (without model calls only what needs none), then those not looked at since the schema changed. At most 200 of each.';
