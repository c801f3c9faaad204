create or replace function loom.org_set_model_calls(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('org.set_model_calls', p_request);
  v_enabled boolean := loom._boolean(p_request, 'enabled');
begin
  perform loom._org_wide(v_caller);
  if v_enabled is null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'enabled', 'reason', 'is required')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  perform loom._ensure_org(v_caller.org, v_caller.actor, v_caller.called_at);
  insert into loom.org_setting (org, model_calls, updated_at, updated_by)
  values (v_caller.org, v_enabled, v_caller.called_at, v_caller.actor)
  on conflict (org) do update
    set model_calls = excluded.model_calls, updated_at = excluded.updated_at, updated_by = excluded.updated_by;
  perform loom._audit(v_caller.org, v_caller.actor, v_caller.called_at, 'org.set_model_calls',
    jsonb_build_object('enabled', v_enabled));
  if v_enabled and exists (
    select from loom.namespace as place cross join loom.work_kind as worked
    cross join lateral loom._work_schema(worked, place.org, place.name) as schema
    where place.org = v_caller.org and worked.enabled and loom._namespace_due(schema, worked.kind, v_caller.called_at)
  ) then
    perform loom._ring();
  end if;
  return jsonb_build_object('org', v_caller.org, 'model_calls', v_enabled);
end
$$;
comment on function loom.org_set_model_calls(jsonb) is
'Switches calls to a model on or off for the whole org; workers heed it when they claim work and again just before a call. Audited.

Request: enabled*.
Returns: org, model_calls.
Errors: LM001, LM003, LM302, also for a token bound to a namespace.';
