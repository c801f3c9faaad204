create or replace function loom._user_profile_store(p_row loom.user_profile, p_change text, p_actor text)
returns loom.user_profile
language plpgsql volatile
as $$
declare
  -- Read behind the lock, and always later than the version before.
  v_at timestamptz := greatest(p_row.updated_at + interval '1 microsecond', loom._now());
begin
  p_row.revision := coalesce(p_row.revision, 0) + 1;
  p_row.updated_at := v_at;
  p_row.updated_by := p_actor;
  p_row.deleted_at := case when p_row.profile is null then v_at end;
  if p_row.profile_id is null then
    p_row.profile_id := gen_random_uuid();
    p_row.created_at := v_at;
    p_row.created_by := p_actor;
    insert into loom.user_profile
    values (p_row.org, p_row.namespace, p_row.user_id, p_row.scope_tenant, p_row.scope_user, p_row.scope_thread,
      p_row.scope_kind, p_row.profile_id, p_row.profile, p_row.document, p_row.version, p_row.revision, p_row.source,
      p_row.created_at, p_row.created_by, p_row.updated_at, p_row.updated_by, p_row.deleted_at);
  else
    update loom.user_profile
    set profile = p_row.profile, document = p_row.document, version = p_row.version, revision = p_row.revision,
      source = p_row.source, updated_at = p_row.updated_at, updated_by = p_row.updated_by, deleted_at = p_row.deleted_at
    where org = p_row.org and user_id = p_row.user_id and namespace = p_row.namespace
      and scope_tenant = p_row.scope_tenant and scope_user = p_row.scope_user
      and scope_thread = p_row.scope_thread and scope_kind = p_row.scope_kind;
  end if;
  insert into loom.user_profile_version (org, profile_id, revision, namespace, user_id, version, change, profile, source,
    recorded_at, actor)
  values (p_row.org, p_row.profile_id, p_row.revision, p_row.namespace, p_row.user_id, p_row.version, p_change,
    p_row.profile, p_row.source, v_at, p_actor);
  return p_row;
end
$$;
comment on function loom._user_profile_store(loom.user_profile, text, text) is
  'Writes the next version of a locked profile, a tombstone where it has no content, with its place in the history.';
