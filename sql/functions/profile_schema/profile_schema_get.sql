create or replace function loom.profile_schema_get(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile_schema.get', p_request);
  v_org text := v_caller.org;
  v_namespace text := v_caller.namespace;
  v_stored loom.profile_schema;
begin
  select * into v_stored from loom.profile_schema where org = v_org and namespace = v_namespace;
  return loom._schema_json(v_stored);
end
$$;
comment on function loom.profile_schema_get(jsonb) is
'The profile schema of the namespace, who set it and when.

Request: no fields beside org and namespace.
Returns: found, json_schema, schema_sha256, updated_by, updated_at; all null but found where there is none, or it was cleared.
Errors: LM001, LM003, LM302.';
