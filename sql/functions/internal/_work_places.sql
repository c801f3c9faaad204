create or replace function loom._work_places(
  p_kind loom.work_kind, p_after_org text, p_after_namespace text, p_last_org text, p_last_namespace text, p_most integer
) returns setof loom.profile_schema
language plpgsql stable rows 500
set plan_cache_mode = force_generic_plan
as $$
begin
  if p_kind.recipe is null then
    return query
      select * from loom.profile_schema
      where (org, namespace) > (p_after_org, p_after_namespace) and json_schema is not null
        and (p_last_org is null or (org, namespace) <= (p_last_org, p_last_namespace))
      order by org, namespace
      limit p_most;
  elsif p_kind.enabled then
    return query
      select recipe.* from (
        select org, name from loom.namespace
        where (org, name) > (p_after_org, p_after_namespace)
          and (p_last_org is null or (org, name) <= (p_last_org, p_last_namespace))
        order by org, name
        limit p_most
      ) as place
      cross join lateral loom._recipe(p_kind, place.org, place.name) as recipe
      order by org, namespace;
  end if;
end
$$;
comment on function loom._work_places(loom.work_kind, text, text, text, text, integer) is
  'The namespaces where a kind of work may have something to do, in their order from behind one up to another (null: to the last), at most so many: those with a profile schema, or all of them. Across orgs for the scheduler.';
