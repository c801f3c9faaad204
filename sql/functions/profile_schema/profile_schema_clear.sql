create or replace function loom.profile_schema_clear(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile_schema.clear', p_request);
  v_org text := v_caller.org;
  v_namespace text := v_caller.namespace;
begin
  update loom.profile_schema
  set json_schema = null, schema_sha256 = null, schema_rev = schema_rev + 1, attempts = 0, wait_until = null,
    updated_at = v_caller.called_at, updated_by = v_caller.actor
  where org = v_org and namespace = v_namespace and json_schema is not null;
  if not found then
    return jsonb_build_object('cleared', false);
  end if;
  perform loom._audit(v_org, v_caller.actor, v_caller.called_at, 'profile_schema.clear',
    jsonb_build_object('namespace', v_namespace));
  return jsonb_build_object('cleared', true);
end
$$;
comment on function loom.profile_schema_clear(jsonb) is
'Removes the profile schema of the namespace: nothing more is built there. What was built stays as profile sections. Audited when there was one.

Request: no fields beside org and namespace.
Returns: cleared (false where there was none).
Errors: LM001, LM003, LM302.';
