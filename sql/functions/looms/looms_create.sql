create or replace function loom.looms_create(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.create', p_request);
  v_loom loom.loom;
  v_ok boolean;
begin
  perform loom._loom_unpinned(v_caller);
  v_caller := loom._loom_place(v_caller, p_request);
  v_loom.loom_id := gen_random_uuid();
  v_loom.name := loom._required_identifier(p_request, 'name');
  v_loom.description := loom._bounded_text(p_request, 'description', 2000);
  v_loom := loom._loom_settings(v_loom, p_request);
  v_ok := loom._blacklist_check(v_caller, array[v_loom.name, v_loom.description]);
  v_ok := loom._loom_name_free(v_caller, v_loom.name);
  return jsonb_build_object('entity', loom._loom_json(loom._loom_insert(v_loom, v_caller)));
end
$$;
comment on function loom.looms_create(jsonb) is
'Makes a loom. Its name is unique in its namespace. Not for a token that is pinned to a user.

Request: name*, description (2000 characters at most), namespaceId (or the namespace by name, or the token''s), settings (nightWeaving, quietMinutes up to a day, weaverModel; null inherits from the namespace, then the installation).
Returns: entity (the loom).
Errors: LM001, LM003, LM202 the name is taken, LM302, LM406, LM407.';
