create or replace function loom.namespace_update(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('namespace.update', p_request);
  v_org text := v_caller.org;
  v_name text := v_caller.namespace;
  v_night_weaving boolean := loom._boolean(p_request, 'night_weaving');
  v_quiet_minutes integer := loom._integer(p_request, 'quiet_minutes', 0, 1440);
  v_weaver_model text := loom._bounded_text(p_request, 'weaver_model', 200);
  v_language text := loom._text(p_request, 'text_search_language');
  v_namespace loom.namespace;
begin
  perform from pg_catalog.pg_ts_config
  where cfgname = v_language and cfgnamespace = 'pg_catalog'::regnamespace;
  if v_language is not null and not found then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'text_search_language',
        'reason', 'is no text search configuration of this server')::text,
      hint = 'For example simple, english, german, russian.';
  end if;
  update loom.namespace
  set night_weaving = coalesce(v_night_weaving, night_weaving),
    quiet_minutes = coalesce(v_quiet_minutes, quiet_minutes),
    weaver_model = coalesce(v_weaver_model, weaver_model),
    text_search_language = coalesce(v_language, text_search_language),
    updated_at = v_caller.called_at, updated_by = v_caller.actor
  where org = v_org and name = v_name
  returning * into v_namespace;
  return loom._namespace_json(v_namespace) || jsonb_build_object('found', true);
end
$$;
comment on function loom.namespace_update(jsonb) is
'Sets defaults of a namespace; a field left out keeps its value. The namespace is made when it is new.

Request: night_weaving, quiet_minutes (0 to 1440), weaver_model (200 characters at most), text_search_language (a text search configuration of the server).
Returns: found, org, org_id, namespace, namespace_id, night_weaving, quiet_minutes, weaver_model, text_search_language, created_at, updated_at.
Errors: LM001, LM003, LM302, LM406.';
