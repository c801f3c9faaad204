create or replace function loom._namespace_json(p_namespace loom.namespace) returns jsonb
language plpgsql stable
as $$
declare
  v_org text := p_namespace.org;
begin
  return jsonb_build_object(
    'org', v_org, 'org_id', (select org_id from loom.org where name = v_org),
    'namespace', p_namespace.name, 'namespace_id', p_namespace.namespace_id,
    'night_weaving', p_namespace.night_weaving, 'quiet_minutes', p_namespace.quiet_minutes,
    'weaver_model', p_namespace.weaver_model, 'text_search_language', p_namespace.text_search_language,
    'created_at', loom._ts(p_namespace.created_at), 'updated_at', loom._ts(p_namespace.updated_at));
end
$$;
comment on function loom._namespace_json(loom.namespace) is 'A namespace as the wire shows it.';
