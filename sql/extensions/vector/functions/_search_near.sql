create or replace function loom._search_near(
  p_caller loom.caller, p_filter loom.search_filter, p_model text, p_vector jsonb, p_limit integer
) returns refcursor
language plpgsql stable security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
  v_vector @vector@.vector := p_vector::text;
  v_nearest refcursor;
begin
  if loom._search_by_index(p_caller, p_filter.plane, p_model) then
    -- More than is wanted, since some of it is not shown.
    open v_nearest for
      select * from loom._search_indexed(p_caller, p_filter, p_model, v_vector, 20 * p_limit);
  elsif p_caller.users is null then
    open v_nearest for
      select memory_id, content_sha256, embedding operator(@vector@.<=>) v_vector as distance from loom.embedding
      where org = v_org and model = p_model and namespace = p_caller.namespace and plane = p_filter.plane
      order by distance, memory_id;
  else
    -- User after user: a list of users is no condition of an index in a plan for all callers.
    open v_nearest for
      select memory_id, content_sha256, distance from unnest(p_caller.users) as reach (who)
      cross join lateral (
        select memory_id, content_sha256, embedding operator(@vector@.<=>) v_vector as distance from loom.embedding
        where org = v_org and model = p_model and namespace = p_caller.namespace and plane = p_filter.plane
          and user_id = reach.who
        offset 0  -- else it may be joined as a whole, and all users be read
      ) as near
      order by distance, memory_id;
  end if;
  return v_nearest;
end
$$;
comment on function loom._search_near(loom.caller, loom.search_filter, text, jsonb, integer) is
  'Vectors in reach, nearest first: all of them, or what an index found where there is one and they are many.';
alter function loom._search_near(loom.caller, loom.search_filter, text, jsonb, integer) owner to loom_search;
