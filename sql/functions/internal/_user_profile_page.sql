create or replace function loom._user_profile_page(p_row loom.user_profile, p_before bigint, p_limit integer)
returns setof loom.user_profile_version
language plpgsql volatile rows 50
set plan_cache_mode = force_generic_plan
as $$
begin
  return query select * from loom.user_profile_version
  where org = p_row.org and profile_id = p_row.profile_id and revision < p_before
  order by revision desc
  limit p_limit;
end
$$;
comment on function loom._user_profile_page(loom.user_profile, bigint, integer) is
  'Versions of a profile before a position, newest first.';
