create or replace function loom._recipe(p_kind loom.work_kind, p_org text, p_namespace text) returns loom.profile_schema
language plpgsql immutable
as $$
declare
  v_recipe loom.profile_schema;
begin
  if p_kind.enabled then
    v_recipe.org := p_org;
    v_recipe.namespace := p_namespace;
    v_recipe.json_schema := '{}';
    v_recipe.schema_sha256 := p_kind.recipe;
    v_recipe.schema_rev := p_kind.recipe_rev;
    v_recipe.attempts := 0;
    v_recipe.updated_at := p_kind.enabled_at;
  end if;
  return v_recipe;
end
$$;
comment on function loom._recipe(loom.work_kind, text, text) is
  'What stands in the place of a namespace''s schema for a kind that builds everywhere by the same recipe: changed when the kind was last switched on; all null, as where there is no schema, while it is off.';
