create or replace function loom._user_profile_find(p_caller loom.caller, p_scope loom.profile_scope)
returns loom.user_profile
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_row loom.user_profile;
begin
  select * into v_row from loom.user_profile
  where org = p_caller.org and user_id = p_caller.user_id and namespace = p_caller.namespace
    and scope_tenant = p_scope.tenant and scope_user = p_scope.person
    and scope_thread = p_scope.thread and scope_kind = p_scope.kind;
  return v_row;
end
$$;
comment on function loom._user_profile_find(loom.caller, loom.profile_scope) is
  'A user''s profile of one scope, live or tombstone; all null when there is none.';
