create or replace function loom._search_by_index(p_caller loom.caller, p_plane text, p_model text) returns boolean
language plpgsql stable security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
  v_index regclass := to_regclass('loom.' || loom._embedding_index(p_model));
  v_most integer := 10000;
begin
  perform from pg_catalog.pg_index where indexrelid = v_index and indisvalid;
  if not found then
    return false;
  end if;
  if p_caller.users is null then
    return v_most < (
      select count(*) from (
        select from loom.embedding
        where org = v_org and model = p_model and namespace = p_caller.namespace and plane = p_plane
        limit v_most + 1
      ) as counted);
  end if;
  return v_most < (
    select count(*) from unnest(p_caller.users) as reach (who)
    cross join lateral (
      select from loom.embedding
      where org = v_org and model = p_model and namespace = p_caller.namespace and plane = p_plane and user_id = reach.who
      limit v_most + 1
    ) as counted);
end
$$;
comment on function loom._search_by_index(loom.caller, text, text) is
  'Whether a search goes by the model''s index: where it has one and more than 10,000 vectors are in reach. Below that looking at all of them is as quick, and exact.';
alter function loom._search_by_index(loom.caller, text, text) owner to loom_search;
