create or replace function loom._user_profile_unqueue(p_row loom.user_profile) returns void
language plpgsql volatile
as $$
begin
  delete from loom.user_profile_task
  where org = p_row.org and user_id = p_row.user_id and namespace = p_row.namespace
    and scope_tenant = p_row.scope_tenant and scope_user = p_row.scope_user
    and scope_thread = p_row.scope_thread and scope_kind = p_row.scope_kind;
end
$$;
comment on function loom._user_profile_unqueue(loom.user_profile) is
  'Drops the signals of a locked profile that wait for a model: what they tell of is to begin anew or to end.';
