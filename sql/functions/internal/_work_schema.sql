create or replace function loom._work_schema(p_kind loom.work_kind, p_org text, p_namespace text)
returns loom.profile_schema
language plpgsql stable
as $$
declare
  v_schema loom.profile_schema;
begin
  if p_kind.recipe is not null then
    return loom._recipe(p_kind, p_org, p_namespace);
  end if;
  select * into v_schema from loom.profile_schema where org = p_org and namespace = p_namespace;
  return v_schema;
end
$$;
comment on function loom._work_schema(loom.work_kind, text, text) is
  'What a kind of work builds by in a namespace: its profile schema or the kind''s recipe; all null where there is neither.';
