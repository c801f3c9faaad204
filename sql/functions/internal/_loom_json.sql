create or replace function loom._loom_json(p_loom loom.loom) returns jsonb
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_loom.org;
  v_name text := p_loom.namespace;
  v_rule loom.loom_rule := loom._loom_rule_of(p_loom);
begin
  return jsonb_build_object(
    'name', p_loom.name, 'description', p_loom.description, 'scopeKey', p_loom.scope_key,
    'seedFromLoomId', p_loom.seed_from_loom_id, 'seededAt', loom._ts7(p_loom.seeded_at),
    'settings', jsonb_build_object(
      'nightWeaving', p_loom.night_weaving, 'quietMinutes', p_loom.quiet_minutes, 'weaverModel', p_loom.weaver_model,
      'effectiveNightWeaving', v_rule.night_weaving,
      'effectiveQuietPeriod', loom._clock_text(v_rule.quiet)),
    'lastWovenAt', loom._ts7(p_loom.last_woven_at), 'lastActivityAt', loom._ts7(p_loom.last_activity_at),
    'lastActivityProcessId', p_loom.last_activity_process_id,
    'lastNightWeavingAt', loom._ts7(p_loom.last_night_weaving_at),
    'nightWeavingPending', p_loom.night_weaving_pending,
    'nightWeavingNotBefore', loom._ts7(p_loom.night_weaving_not_before),
    'namespaceId', (select namespace_id from loom.namespace where org = v_org and name = v_name),
    'tenantId', (select org_id from loom.org where name = v_org),
    'id', p_loom.loom_id, 'dateCreated', loom._ts7(p_loom.created_at), 'dateUpdated', loom._ts7(p_loom.updated_at));
end
$$;
comment on function loom._loom_json(loom.loom) is 'A loom as the wire shows it: every field, empty ones as null.';
