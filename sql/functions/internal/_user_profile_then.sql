create or replace function loom._user_profile_then(p_row loom.user_profile, p_version bigint)
returns loom.user_profile_version
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_then loom.user_profile_version;
begin
  -- A version is used twice only by who names versions; then the later one is meant.
  select * into v_then from loom.user_profile_version
  where org = p_row.org and profile_id = p_row.profile_id and version = p_version
  order by revision desc limit 1;
  return v_then;
end
$$;
comment on function loom._user_profile_then(loom.user_profile, bigint) is
  'An earlier version of a profile; all null when there is none of that number.';
