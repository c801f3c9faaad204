create or replace function loom.user_profile_update(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('user_profile.update', p_request);
  v_scope loom.profile_scope := loom._user_profile_scope(v_caller, p_request);
  v_signals jsonb := loom._signals(p_request);
  v_source text := coalesce(loom._choice(p_request, 'source', '{rules,llm,composite}'), 'rules');
  v_dry_run boolean := coalesce(loom._boolean(p_request, 'dry_run'), false);
  v_row loom.user_profile := loom._user_profile_lock(v_caller, v_scope, p_request);
  v_own text[];
  v_queued boolean;
  v_ok boolean;
begin
  v_own := loom._own_signals(loom._fresh_signals(v_row, v_signals, v_caller.called_at, v_dry_run));
  if v_source = 'rules' then
    return loom._user_profile_change(v_caller, v_row, loom._user_profile_rules(v_own), 'update', v_dry_run)
      || '{"queued": false}';
  end if;
  v_queued := v_own <> '{}';
  v_ok := loom._blacklist_check(v_caller, v_own);
  if v_queued and not v_dry_run then
    perform loom._user_profile_queue(v_caller, v_row, v_source, v_own);
  end if;
  return loom._user_profile_json(v_row) || jsonb_build_object('changed', false, 'queued', v_queued);
end
$$;
comment on function loom.user_profile_update(jsonb) is
'Learns from what a user said, in one transaction: what the signals tell is merged into the profile, each signal with an id once. Only the user''s own words count: signals of kind feedback, and of kind message whose role is user or blank. rules judge at once and call no model; with llm and composite (the model''s word first, and the rules where it says nothing) the signals wait for the worker.

Request: user_id* (or the token''s pinned user), signals* [{id, kind (message), role, text* (at most 20000 characters), ts, meta}] (1 to 200), source (rules, llm, composite), scope {tenant, user, thread, kind}, if_version (0: only if there is none), dry_run.
Returns: profile {facts [{key, value}], traits, preferences, summary}, version, version_text, source, updated_at, changed, queued (the worker is to apply it).
Errors: LM001, LM003, LM201 another version, LM302, LM406 over the limits of a request or of a profile, LM407 blacklisted.';
