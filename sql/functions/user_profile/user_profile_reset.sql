create or replace function loom.user_profile_reset(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('user_profile.reset', p_request);
  v_scope loom.profile_scope := loom._user_profile_scope(v_caller, p_request);
  v_row loom.user_profile := loom._user_profile_lock(v_caller, v_scope, p_request);
  v_empty jsonb := loom._user_profile_empty();
  -- A document may say more than the profile that Loom takes of it.
  v_changed boolean := v_row.profile is distinct from v_empty or v_row.document is not null;
begin
  perform loom._user_profile_unqueue(v_row);
  if v_changed then
    v_row.profile := v_empty;
    v_row.document := null;
    v_row.version := coalesce(v_row.version, 0) + 1;
    v_row.source := 'reset';
    v_row := loom._user_profile_store(v_row, 'reset', v_caller.actor);
  end if;
  return loom._user_profile_json(v_row) || jsonb_build_object('changed', v_changed);
end
$$;
comment on function loom.user_profile_reset(jsonb) is
'Begins a user''s profile anew: the next version is empty, what waits for a model is dropped. The history stays, and signals that were merged are not merged again. An empty profile stays as it is.

Request: user_id* (or the token''s pinned user), scope {tenant, user, thread, kind}, if_version (0: only if there is none).
Returns: profile, version, version_text, source, updated_at, changed.
Errors: LM001, LM003, LM201 another version, LM302, LM406.';
