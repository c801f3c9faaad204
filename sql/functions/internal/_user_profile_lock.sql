create or replace function loom._user_profile_lock(p_caller loom.caller, p_scope loom.profile_scope, p_request jsonb)
returns loom.user_profile
language plpgsql volatile
as $$
declare
  v_if_version bigint := loom._integer(p_request, 'if_version', 0, 9007199254740991);
  v_row loom.user_profile;
begin
  -- The state row orders all writers, also while there is no profile row to lock.
  perform loom._state_lock(p_caller);
  v_row := loom._user_profile_find(p_caller, p_scope);
  if v_row.profile_id is null then
    v_row.org := p_caller.org;
    v_row.namespace := p_caller.namespace;
    v_row.user_id := p_caller.user_id;
    v_row.scope_tenant := p_scope.tenant;
    v_row.scope_user := p_scope.person;
    v_row.scope_thread := p_scope.thread;
    v_row.scope_kind := p_scope.kind;
    v_row.source := '';
  end if;
  -- Whoever names versions may have named 0: then it is a version like any other.
  if not coalesce(v_if_version = case when v_row.profile is not null then v_row.version
    when not p_request ? 'version' then 0 end, v_if_version is null) then
    raise exception using errcode = 'LM201', message = 'Another write came first.',
      detail = jsonb_build_object('current_sha256', null,
        'current_version', case when v_row.profile is not null then v_row.version end)::text,
      hint = 'Read the profile, make the change to that, and send it with its version; 0 means that there is none.';
  end if;
  return v_row;
end
$$;
comment on function loom._user_profile_lock(loom.caller, loom.profile_scope, jsonb) is
  'The profile of a user and scope as it stands now, behind the user''s state row; without an id when there is none. LM201 where it is not of the version that the request names.';
