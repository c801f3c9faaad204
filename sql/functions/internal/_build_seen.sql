create or replace function loom._build_seen(p_build loom.build, p_schema loom.profile_schema, p_at timestamptz)
returns loom.build
language plpgsql immutable
as $$
begin
  if p_build.schema_rev <> p_schema.schema_rev or p_build.refused_until <= p_at then
    p_build.refused := null;
    p_build.refused_until := null;
  end if;
  p_build.schema_rev := p_schema.schema_rev;
  return p_build;
end
$$;
comment on function loom._build_seen(loom.build, loom.profile_schema, timestamptz) is
  'A build looked at under the schema of now; a refusal ends when it was made under another one, or when its wait is over.';
