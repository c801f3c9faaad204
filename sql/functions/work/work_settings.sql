create or replace function loom.work_settings(p_kind text, p_settings jsonb) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_kind loom.work_kind := loom._kind_of_work(p_kind);
  v_enabled boolean := coalesce((p_settings ->> 'enabled')::boolean, v_kind.enabled);
  v_switched_on integer := (v_enabled and not v_kind.enabled)::integer;
  v_enabled_at timestamptz := case v_switched_on when 1 then loom._now() else v_kind.enabled_at end;
begin
  update loom.work_kind
  set enabled = v_enabled, enabled_at = v_enabled_at,
    -- Of whom changed while it was off nobody has kept that they are due.
    recipe_rev = recipe_rev + v_switched_on,
    memory_limit = coalesce((p_settings ->> 'memory_limit')::integer, memory_limit),
    max_users_per_pass = coalesce((p_settings ->> 'max_users_per_pass')::integer, max_users_per_pass),
    max_pass = coalesce(loom._seconds(p_settings, 'max_pass_seconds'), max_pass),
    pass_interval = coalesce(loom._seconds(p_settings, 'interval_seconds'), pass_interval),
    idle_interval = coalesce(loom._seconds(p_settings, 'idle_interval_seconds'), idle_interval),
    cooldown = coalesce(loom._seconds(p_settings, 'cooldown_seconds'), cooldown),
    scan_max_age = coalesce(loom._seconds(p_settings, 'scan_max_age_seconds'), scan_max_age),
    backoff_base = coalesce(loom._seconds(p_settings, 'backoff_base_seconds'), backoff_base),
    backoff_cap = coalesce(loom._seconds(p_settings, 'backoff_cap_seconds'), backoff_cap),
    refusal_retry = coalesce(loom._seconds(p_settings, 'refusal_retry_seconds'), refusal_retry),
    lease = coalesce(loom._seconds(p_settings, 'lease_seconds'), lease)
  where kind = p_kind;
  update loom.pass set not_before = null where kind = p_kind;  -- a wait of the former settings
end
$$;
comment on function loom.work_settings(text, jsonb) is
'Sets waits and bounds of a kind of work for all workers: the settings LOOM_STRUCTURED_PROFILE_* and LOOM_PROFILE_CONSOLIDATION_*, as the applier found them. What is left out stays. For the migration login alone.

Request: p_settings {enabled, memory_limit, max_users_per_pass, max_pass_seconds, interval_seconds, idle_interval_seconds, cooldown_seconds, scan_max_age_seconds, backoff_base_seconds, backoff_cap_seconds, refusal_retry_seconds, lease_seconds}.
Errors: LM001 unknown kind.';
