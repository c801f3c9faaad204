create or replace function loom.user_profile_put(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('user_profile.put', p_request);
  v_scope loom.profile_scope := loom._user_profile_scope(v_caller, p_request);
  v_delta jsonb := loom._user_profile_given(p_request);
  v_document text := loom._bounded_text(p_request, 'document', 1000000);
  v_version bigint := loom._integer(p_request, 'version', 0, 9007199254740991);
  v_row loom.user_profile := loom._user_profile_lock(v_caller, v_scope, p_request);
  v_profile jsonb := loom.user_profile_merge(loom._user_profile_empty(), v_delta);
  v_ok boolean;
begin
  if v_row.profile is not null and loom._boolean(p_request, 'if_absent') then
    raise exception using errcode = 'LM202', message = 'There is one already.',
      hint = 'Leave if_absent out to write over it.';
  end if;
  v_ok := loom._user_profile_fits(v_profile);
  v_ok := loom._blacklist_check(v_caller, loom._leaves(v_delta) || v_document);
  v_row.profile := v_profile;
  v_row.document := v_document;
  v_row.version := coalesce(v_version, coalesce(v_row.version, 0) + 1);
  v_row.source := coalesce(v_delta ->> 'source', '');
  v_row := loom._user_profile_store(v_row, 'put', v_caller.actor);
  return loom._user_profile_json(v_row) || '{"changed": true}';
end
$$;
comment on function loom.user_profile_put(jsonb) is
'Writes a whole profile over the one that stands: for copies from elsewhere, and for libraries that keep theirs here. A writer that only knows something new sends user_profile.apply, beside which no other write is lost.

Request: user_id* (or the token''s pinned user), profile* {facts [{key*, value*}], traits, preferences {format, language, topics}, summary}, source, version (what it is to be called; one more than before when left out), document (the same as its owner wrote it, 1000000 characters at most: kept as it is and given back by user_profile.get until anything else is written), scope {tenant, user, thread, kind}, if_version, if_absent.
Returns: profile, version, version_text, source, updated_at, changed.
Errors: LM001, LM003, LM201 another version, LM202 if_absent over a profile, LM302, LM406, LM407 blacklisted.';
