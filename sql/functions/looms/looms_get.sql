create or replace function loom.looms_get(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.get', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
begin
  return loom._loom_json(loom._loom_in_reach(v_caller, v_loom_id));
end
$$;
comment on function loom.looms_get(jsonb) is
'One loom.

Request: loomId*.
Returns: name, description, scopeKey, seedFromLoomId, seededAt, settings (nightWeaving, quietMinutes, weaverModel, effectiveNightWeaving, effectiveQuietPeriod), lastWovenAt, lastActivityAt, lastActivityProcessId, lastNightWeavingAt, nightWeavingPending, nightWeavingNotBefore, namespaceId, tenantId, id, dateCreated, dateUpdated.
Errors: LM001, LM003, LM103, LM302, LM406.';
