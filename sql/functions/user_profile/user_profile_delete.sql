create or replace function loom.user_profile_delete(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('user_profile.delete', p_request);
  v_scope loom.profile_scope := loom._user_profile_scope(v_caller, p_request);
  v_row loom.user_profile := loom._user_profile_lock(v_caller, v_scope, p_request);
  v_found boolean := v_row.profile is not null;
begin
  perform loom._user_profile_unqueue(v_row);
  if v_found then
    v_row.profile := null;
    v_row.document := null;
    v_row.version := v_row.version + 1;
    v_row := loom._user_profile_store(v_row, 'delete', v_caller.actor);
  end if;
  return jsonb_build_object('found', v_found, 'tombstoned', v_row.profile_id is not null,
    'version', coalesce(v_row.version, 0), 'version_text', coalesce(v_row.version, 0)::text);
end
$$;
comment on function loom.user_profile_delete(jsonb) is
'Ends a user''s profile with a tombstone, and drops what waits for a model; the history stays until the user is erased. What is merged later begins a profile again, with the next version.

Request: user_id* (or the token''s pinned user), scope {tenant, user, thread, kind}, if_version (0: only if there is none).
Returns: found (a profile was there), tombstoned (a tombstone stands there now), version, version_text.
Errors: LM001, LM003, LM201 another version, LM302, LM406.';
