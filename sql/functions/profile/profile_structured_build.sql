create or replace function loom.profile_structured_build(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile.structured_build', p_request);
  v_user text := loom._profiled_user(v_caller, p_request);
  v loom.profile_standing;
  v_build loom.build;
  v_kind loom.work_kind;
  v_schema loom.profile_schema;
  v_now timestamptz;
begin
  perform from loom.build
  where org = v_caller.org and namespace = v_caller.namespace and user_id = v_user and kind = 'structured_profile';
  if found then
    perform loom._state_lock(v_caller);
    v_now := loom._now();
    v := loom._profile_standing(v_caller.org, v_caller.namespace, v_user);
    v_kind := loom._kind_of_work('structured_profile');
    v_schema := v.schema;
    v_build := v.build;
    if v_build.schema_rev < v_schema.schema_rev and v_build.lease_id is null then
      v_build := loom._build_seen(v_build, v_schema, v_now);
    end if;
    v_build := loom._build_look(v_build, v.state, v_kind, v_schema, v_now);
    if v_build is distinct from v.build then
      perform loom._build_store(v_build);
      perform loom._build_rings(v.build, v_build, v_kind, v_schema, v_now);
    end if;
  end if;
  return jsonb_build_object(
    'queued', coalesce(v_build.leased_until > v_now, false) or (v_build.listed_at is not null and v_build.due_at <= v_now),
    'due_at', case when v_build.listed_at is not null then loom._ts(v_build.due_at) end);
end
$$;
comment on function loom.profile_structured_build(jsonb) is
'Asks for a user''s structured profile to be built now, without waiting for a pass to find the user. What it costs stays bounded: inside the cooldown, a backoff or a refusal it is not queued, and a profile that is up to date is not built again.

Request: user_id* (or the token''s pinned user).
Returns: queued (a build is due or under way; false inside the cooldown, and when there is nothing to build), due_at (when it is; null when nothing is to be built).
Errors: LM001, LM003, LM302, LM406.';
