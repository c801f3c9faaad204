create or replace function loom._user_profile_scope(p_caller loom.caller, p_request jsonb) returns loom.profile_scope
language plpgsql immutable
as $$
declare
  v_scope jsonb := coalesce(nullif(p_request -> 'scope', 'null'), '{}');
  v_user text := loom._profiled_user(p_caller, p_request);
  v_part text;
begin
  if jsonb_typeof(v_scope) <> 'object' or v_scope - '{tenant,user,thread,kind}'::text[] <> '{}' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'scope', 'reason', 'must be an object of tenant, user, thread and kind')::text,
      hint = 'Leave out the parts that are not set.';
  end if;
  foreach v_part in array '{tenant,user,thread,kind}'::text[] loop
    if v_scope ->> v_part = '' then
      v_scope := v_scope - v_part;
    end if;
  end loop;
  return row(coalesce(loom._identifier(v_scope, 'tenant'), ''), coalesce(loom._identifier(v_scope, 'user'), ''),
    coalesce(loom._identifier(v_scope, 'thread'), ''), coalesce(loom._identifier(v_scope, 'kind'), ''))::loom.profile_scope;
end
$$;
comment on function loom._user_profile_scope(loom.caller, jsonb) is
  'Which of the user''s profiles a request means. Refuses user - and tokens bounded to a session. Errors: LM001, LM003, LM302, LM406.';
