create or replace function loom.user_profile_apply(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('user_profile.apply', p_request);
  v_scope loom.profile_scope := loom._user_profile_scope(v_caller, p_request);
  v_delta jsonb := loom._user_profile_delta(p_request -> 'delta');
  v_ids text[] := loom._signal_ids(p_request);
  v_dry_run boolean := coalesce(loom._boolean(p_request, 'dry_run'), false);
  v_row loom.user_profile := loom._user_profile_lock(v_caller, v_scope, p_request);
begin
  -- Made from signals that have all been merged, it has been merged.
  if v_ids <> '{}' and v_ids <@ loom._user_profile_taken(v_row, v_ids, v_caller.called_at, v_dry_run) then
    v_delta := '{}';
  end if;
  return loom._user_profile_change(v_caller, v_row, v_delta, 'apply', v_dry_run);
end
$$;
comment on function loom.user_profile_apply(jsonb) is
'Merges a delta into a user''s profile, inside the database, so that of many writers none is lost. Null and empty say nothing: only forget removes a fact, and only an empty list of topics the topics. The version moves only when something changes.

Request: user_id* (or the token''s pinned user), delta* {fact_ops [{op* (add, update, forget), key*, value}], traits {style, verbosity (concise, balanced, detailed), expertise (beginner, intermediate, expert), formality (casual, neutral, formal)}, preferences {format (bullets, narrative, code_heavy, mixed), language, topics}, topics, summary, source}, scope {tenant, user, thread, kind}, signal_ids (what the delta was made from: when all of these have been merged, nothing changes), if_version (0: only if there is none), dry_run.
Returns: profile {facts [{key, value}], traits, preferences, summary}, version, version_text, source, updated_at, changed.
Errors: LM001, LM003, LM201 another version, LM302, LM406 over 200 facts, 50 topics or the length of a part, LM407 blacklisted.';
