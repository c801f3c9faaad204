create or replace function loom.user_profile_get(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('user_profile.get', p_request);
  v_scope loom.profile_scope := loom._user_profile_scope(v_caller, p_request);
  v_row loom.user_profile := loom._user_profile_find(v_caller, v_scope);
  v_as_of bigint := loom._integer(p_request, 'as_of_version', 0, 9007199254740991);
  v_document text := case when loom._boolean(p_request, 'include_document') then v_row.document end;
  v_ids text[] := loom._signal_ids(p_request);
  v_merged jsonb := '[]';
  v_then loom.user_profile_version;
  v_pending bigint;
begin
  select count(*) into v_pending from loom.user_profile_task
  where org = v_caller.org and user_id = v_caller.user_id and namespace = v_caller.namespace and due_at is not null
    and scope_tenant = v_scope.tenant and scope_user = v_scope.person
    and scope_thread = v_scope.thread and scope_kind = v_scope.kind;
  if v_ids <> '{}' then
    select coalesce(jsonb_agg(signal_id order by signal_id), '[]') into v_merged from loom.user_profile_signal
    where org = v_caller.org and user_id = v_caller.user_id and namespace = v_caller.namespace
      and scope_tenant = v_scope.tenant and scope_user = v_scope.person
      and scope_thread = v_scope.thread and scope_kind = v_scope.kind and signal_id = any (v_ids);
  end if;
  if v_as_of is not null then
    v_then := loom._user_profile_then(v_row, v_as_of);
    v_row.profile := v_then.profile;
    v_row.version := v_then.version;
    v_row.source := v_then.source;
    v_row.updated_at := v_then.recorded_at;
    v_document := null;
  end if;
  return jsonb_build_object('found', v_row.profile is not null, 'pending', v_pending, 'document', v_document,
      'merged_signal_ids', v_merged)
    || loom._user_profile_json(v_row);
end
$$;
comment on function loom.user_profile_get(jsonb) is
'A user''s profile, the newest or an earlier version. Of a user without one it is the empty profile, with version 0 and found false.

Request: user_id* (or the token''s pinned user), as_of_version, scope {tenant, user, thread, kind}, include_document (of user_profile.put), signal_ids (at most 200: which of them have been merged?).
Returns: found, profile {facts [{key, value}], traits, preferences, summary}, version, version_text, source, updated_at, pending (updates that wait for a model), document (null unless it was asked for, and is what was written last), merged_signal_ids (of signal_ids those that were merged or wait for a model).
Errors: LM001, LM003, LM302, LM406.';
