create or replace function loom._names_of_user(p_caller loom.caller) returns text[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_known jsonb;
begin
  if p_caller.user_id = '-' then
    return '{}';
  end if;
  if p_caller.bound_session is not null then
    return array[p_caller.user_id];
  end if;
  select value into v_known from loom.memory as section
  where org = p_caller.org and namespace = p_caller.namespace and user_id = p_caller.user_id
    and memory_type = 'profile' and memory_key = 'structured_profile' and agent = '-' and session_id = '-'
    and loom._is_current(section, p_caller.called_at);
  return array[p_caller.user_id] || array(
    select value #>> '{}' from jsonb_each(case jsonb_typeof(v_known) when 'object' then v_known else '{}' end)
    where key in ('preferred_name', 'name') and jsonb_typeof(value) = 'string'
    union all
    select told ->> 'value' from loom.user_profile
    cross join lateral jsonb_array_elements(profile -> 'facts') as told
    where org = p_caller.org and user_id = p_caller.user_id and namespace = p_caller.namespace
      and scope_tenant = '' and scope_user = '' and scope_thread = '' and scope_kind = ''
      and told ->> 'key' = 'name');
end
$$;
comment on function loom._names_of_user(loom.caller) is
  'What a user is called: the id, preferred_name and name of the structured profile, and the name in the profile of their messages; of a token bounded to a session the id alone, since both profiles span the sessions.';
