create or replace function loom.namespace_get(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('namespace.get', p_request);
  v_org text := v_caller.org;
  v_name text := v_caller.namespace;
  v_namespace loom.namespace;
begin
  select * into v_namespace from loom.namespace where org = v_org and name = v_name;
  if not found then
    return jsonb_build_object('found', false, 'org', v_org, 'namespace', v_name);
  end if;
  return loom._namespace_json(v_namespace) || jsonb_build_object('found', true);
end
$$;
comment on function loom.namespace_get(jsonb) is
'One namespace with its ids and defaults.

Request: no fields beside org and namespace.
Returns: found, org, namespace; where found also org_id, namespace_id, night_weaving, quiet_minutes, weaver_model, text_search_language, created_at, updated_at.
Errors: LM001, LM003, LM302.';
