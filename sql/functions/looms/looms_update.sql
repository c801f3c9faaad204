create or replace function loom.looms_update(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.update', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_name text := loom._identifier(p_request, 'name');
  v_description text := loom._bounded_text(p_request, 'description', 2000);
  v_org text := v_caller.org;
  v_loom loom.loom;
  v_ok boolean;
begin
  perform loom._loom_unpinned(v_caller);
  v_loom := loom._loom_locked(v_caller, v_loom_id);
  v_caller.namespace := v_loom.namespace;
  v_ok := loom._blacklist_check(v_caller, array[v_name, v_description]);
  if v_name <> v_loom.name then
    v_ok := loom._loom_name_free(v_caller, v_name);
  end if;
  v_loom := loom._loom_settings(v_loom, p_request);
  update loom.loom
  set name = coalesce(v_name, v_loom.name), description = coalesce(v_description, v_loom.description),
    night_weaving = v_loom.night_weaving, quiet_minutes = v_loom.quiet_minutes, weaver_model = v_loom.weaver_model,
    updated_at = v_caller.called_at, updated_by = v_caller.actor
  where org = v_org and loom_id = v_loom_id
  returning * into v_loom;
  return jsonb_build_object('entity', loom._loom_json(v_loom));
end
$$;
comment on function loom.looms_update(jsonb) is
'Changes a loom''s name, description or settings. What is left out stays; a setting that is null inherits from now on. Not for a token that is pinned to a user.

Request: loomId*, name, description (2000 characters at most), settings (nightWeaving, quietMinutes up to a day, weaverModel).
Returns: entity (the loom).
Errors: LM001, LM003, LM103, LM202 the name is taken, LM302, LM406, LM407.';
