-- Runs last, in the transaction that made the functions: takes every right away, then gives what is
-- listed here. A function made a moment ago is executable by PUBLIC until this has run.

revoke all on all functions in schema loom from public, loom_api, loom_scheduler, loom_search,
  loom_gateway, loom_worker, loom_viewer, loom_writer, loom_admin, loom_operator;
revoke all on all tables in schema loom from public, loom_api, loom_scheduler, loom_search,
  loom_gateway, loom_worker, loom_viewer, loom_writer, loom_admin, loom_operator;
revoke all on schema loom from public;
grant usage on schema loom to loom_api, loom_scheduler, loom_search,
  loom_gateway, loom_worker, loom_viewer, loom_writer, loom_admin, loom_operator;

-- Each owner has its own functions back. (The applier has given those just made to loom_api; those
-- of migrations belong to loom_owner.)
do $$
declare
  v_function record;
begin
  for v_function in
    select p.oid::regprocedure as signature, p.proowner::regrole as owner from pg_catalog.pg_proc as p
    where p.pronamespace = 'loom'::regnamespace
  loop
    execute format('grant execute on function %s to %s', v_function.signature, v_function.owner);
  end loop;
end
$$;

grant execute on function loom._sha256(text) to loom_api;
-- Across orgs, by policies of its own, loom_scheduler keeps house: housekeeping(integer),
-- housekeeping_memory(integer) and _housekeeping_lock(memory); and it says where there is work, work_due(text)
-- and user_profile_due(), and how that goes on, work_metrics().
grant execute on function loom._now(), loom._user_lock_key(text, text) to loom_scheduler;
-- Which looms are to be woven: weaving_due(integer, boolean); and what is old of them: housekeeping_looms(integer).
-- What is old of single calls of models: housekeeping_model_calls(integer).
grant execute on function loom._weaving_asked(timestamptz), loom._weaving_due(integer, timestamptz),
  loom._night_weaving_default(), loom._night_weaving_setting(text, numeric),
  loom._weaving_metrics(timestamptz) to loom_scheduler;
-- What housekeeping removes changes digests, by triggers that run with its rights.
grant execute on function loom._settle(text, text, text, timestamptz), loom._twins(loom.memory, timestamptz),
  loom._source_mark(loom.memory, loom.memory, timestamptz), loom._oldest_twin(loom.memory, timestamptz),
  loom._same_twins(loom.memory, loom.memory),
  loom._source_part(loom.memory, timestamptz), loom._is_current(loom.memory, timestamptz), loom._dated(loom.memory),
  loom._row_state(loom.memory), loom._sources_changed(loom.source_change[]),
  loom._build_changed(text, loom.user_state, loom.source_change, timestamptz),
  loom._fold_changed(loom.user_state, loom.source_change, timestamptz), loom._state_of_kind(loom.user_state, text),
  loom._recipe(loom.work_kind, text, text), loom._work_schema(loom.work_kind, text, text),
  loom._work_places(loom.work_kind, text, text, text, text, integer),
  loom._build_new(loom.user_state, text, loom.profile_schema),
  loom._build_behind(loom.build, loom.user_state, text), loom._build_store(loom.build),
  loom._build_look(loom.build, loom.user_state, loom.work_kind, loom.profile_schema, timestamptz),
  loom._build_rings(loom.build, loom.build, loom.work_kind, loom.profile_schema, timestamptz), loom._ring(),
  loom._kind_of_work(text), loom._model_calls(text), loom._model_stop(text, timestamptz),
  loom._anything_due(loom.work_kind, timestamptz, timestamptz),
  loom._namespace_due(loom.profile_schema, text, timestamptz), loom._pass_lock(text),
  loom._pass_open(loom.pass, loom.work_kind, timestamptz), loom._pass_close(loom.pass, interval, timestamptz),
  loom._pass_store(loom.pass), loom._pass_reach(loom.pass, timestamptz), loom._pass_share_out(loom.pass, timestamptz),
  loom._pass_places(text, timestamptz), loom._pass_wait(loom.pass, loom.work_kind),
  loom._due_longest(text, text, text, boolean, timestamptz), loom._claimable_since(loom.profile_schema, text, timestamptz),
  loom._work_oldest(loom.work_kind, timestamptz), loom._work_due_count(loom.work_kind, integer, timestamptz)
  to loom_scheduler;

-- Operations: each client role may call those of its rank; loom_owner's members all of them.
do $$
declare
  v_operation record;
begin
  for v_operation in select function_name, role from loom.operation loop
    execute format('grant execute on function loom.%I(jsonb) to loom_owner, loom_admin', v_operation.function_name);
    if v_operation.role in ('viewer', 'writer') then
      execute format('grant execute on function loom.%I(jsonb) to loom_writer', v_operation.function_name);
    end if;
    if v_operation.role = 'viewer' then
      execute format('grant execute on function loom.%I(jsonb) to loom_viewer', v_operation.function_name);
    end if;
  end loop;
end
$$;

grant execute on function loom.call(uuid, bytea, text, jsonb, text) to loom_gateway;
grant execute on function loom.execute(text, jsonb, text)
  to loom_viewer, loom_writer, loom_admin, loom_owner;
grant execute on function loom.work_metrics() to loom_gateway;
grant execute on function loom.health() to loom_gateway, loom_worker, loom_operator, loom_owner;
grant execute on function loom.worker_beat(uuid), loom.worker_gone(uuid), loom.worker_bell_set(boolean), loom.housekeeping(integer),
  loom.housekeeping_memory(integer), loom.housekeeping_search(integer), loom.work_due(text), loom.work_claim(text, text, text, integer),
  loom.work_read(text, uuid), loom.work_used(text, text, uuid, text, text, jsonb),
  loom.work_complete(text, uuid, jsonb, jsonb),
  loom.weaving_due(integer, boolean), loom.weaving_claim(text, uuid), loom.weaving_read(text, uuid, text, text),
  loom.weaving_apply(text, uuid, text, text, jsonb), loom.weaving_used(text, uuid, text, jsonb),
  loom.weaving_finish(text, uuid, text, text, integer), loom.housekeeping_looms(integer), loom.housekeeping_model_calls(integer),
  loom.work_fail(text, uuid, text, text, integer), loom.work_fail_namespace(text, text, text, text),
  loom.user_profile_due(), loom.user_profile_claim(text), loom.user_profile_complete(text, uuid, jsonb),
  loom.user_profile_fail(text, uuid, text, text, integer) to loom_worker;
grant execute on function
  loom.open_mode_set(integer), loom.open_mode_clear(), loom.service_bind(name, text), loom.service_unbind(name, text),
  loom.attribute_tagging(boolean), loom.work_settings(text, jsonb), loom.model_daily_token_cap(bigint),
  loom.night_weaving_settings(jsonb)
  to loom_owner;

-- Tables: only loom_api, column by column where rows change, so that owner columns never can.
grant select on loom.operation, loom.error_code, loom.migration, loom.functions_digest to loom_api;
grant select, insert on loom.org to loom_api;
grant select, insert on loom.namespace to loom_api;
grant update (night_weaving, quiet_minutes, weaver_model, text_search_language, updated_at, updated_by)
  on loom.namespace to loom_api;
grant select, insert on loom.token to loom_api;
grant update (last_used_at, revoked_at, revoked_by) on loom.token to loom_api;
grant select, insert, delete on loom.service_binding to loom_api;
grant update (role_name, bound_at, bound_by) on loom.service_binding to loom_api;
grant select, insert, delete on loom.open_mode to loom_api;
grant update (expires_at) on loom.open_mode to loom_api;
grant select, insert on loom.audit to loom_api;
grant select, insert on loom.user_state to loom_api;
grant update (epoch, rev, source_digest, source_count, fold_digest, fold_count, sources_changed_at, next_change_at)
  on loom.user_state to loom_api, loom_scheduler;
grant select, insert, delete on loom.worker to loom_api;
grant update (last_seen_at) on loom.worker to loom_api;
grant select, insert, delete on loom.idempotency, loom.idempotency_user to loom_api;
grant select, update (expires_at), delete on loom.idempotency to loom_scheduler;
grant update (answer, user_ids) on loom.idempotency to loom_api;
grant select, insert, delete on loom.working_memory to loom_api;
grant update (content, char_limit, description, read_only, version, created_at, created_by,
  updated_at, updated_by, deleted_at) on loom.working_memory to loom_api;
grant select, insert, delete on loom.memory to loom_api;
grant update (memory_type, value, content_sha256, value_length, char_limit, tags, confidence, source_class,
  source_trace, valid_at, valid_to, expires_at, pinned, sensitivity, lock_mode, lock_reason, lock_until,
  reinforcement_count, version, recorded_at, changed_at, source_part, changes_at, author, actor, created_at, created_by,
  deleted_at, redacted_at) on loom.memory to loom_api;
grant select, insert, delete on loom.memory_version, loom.memory_source to loom_api;
grant update (value, value_version, content_sha256, value_length, source_trace, lock_reason, tags, redacted_at)
  on loom.memory_version to loom_api;
grant select, insert on loom.agent_lock to loom_api;
grant update (rev) on loom.agent_lock to loom_api;
grant select, insert, delete on loom.blacklist, loom.blacklist_scope to loom_api;
grant select, insert, update (value), delete on loom.setting to loom_api;
grant select on loom.attribute_word, loom.erasure_plane to loom_api;
grant select, insert, delete on loom.profile_activity to loom_api;
grant update (reads, last_at) on loom.profile_activity to loom_api;
grant select, insert on loom.org_setting to loom_api;
grant update (model_calls, updated_at, updated_by) on loom.org_setting to loom_api;
grant select, delete on loom.memory, loom.memory_version, loom.memory_source to loom_scheduler;
grant update (source_part, changes_at) on loom.memory to loom_scheduler;
grant select, insert, delete on loom.build to loom_api;
grant select, insert on loom.build to loom_scheduler;
grant update (schema_rev, due_at, listed_at, modelless, row_state, built_at, built_digest, built_count, built_sha256,
  built_sources, tried_at, tried_sha256, tried_count, attempts, last_error, next_attempt_at, refused, refused_until, lease_id,
  leased_until, lease_epoch, lease_sha256, read_digest, read_count, read_ids, read_part)
  on loom.build to loom_api, loom_scheduler;
grant select on loom.work_kind to loom_api, loom_scheduler;
grant update (enabled, enabled_at, recipe_rev, memory_limit, max_users_per_pass, max_pass, pass_interval, idle_interval, cooldown,
  scan_max_age, backoff_base, backoff_cap, refusal_retry, lease) on loom.work_kind to loom_api;
-- Where a kind of work without schemas goes round: no more of a namespace than its name.
grant select (org, name) on loom.namespace to loom_scheduler;
grant select on loom.profile_schema, loom.org_setting, loom.setting, loom.model_day, loom.work_count to loom_scheduler;
grant select, insert on loom.profile_schema to loom_api;
grant update (json_schema, schema_sha256, schema_rev, attempts, wait_until, updated_at, updated_by)
  on loom.profile_schema to loom_api;
grant select, insert, update on loom.pass to loom_scheduler;
grant select, update (budget_left, taken, not_before) on loom.pass to loom_api;
grant select, insert, delete, update (share, share_left, held) on loom.pass_share to loom_scheduler;
grant select, update (share_left, held) on loom.pass_share to loom_api;
grant select, insert, delete on loom.user_profile, loom.user_profile_version, loom.user_profile_signal,
  loom.user_profile_task to loom_api;
grant update (profile, document, version, revision, source, updated_at, updated_by, deleted_at)
  on loom.user_profile to loom_api;
grant update (due_at, attempts, last_error, lease_id, leased_until, signals) on loom.user_profile_task to loom_api;
grant select on loom.user_profile_task to loom_scheduler;
grant select on loom.profile_word, loom.profile_pattern, loom.section_header to loom_api;
grant select, insert, delete on loom.model_usage to loom_api;
grant select, insert, update (calls, prompt_tokens, completion_tokens, milliseconds) on loom.model_day to loom_api;
grant select, insert, update (total, last_at) on loom.work_count to loom_api;
grant select, update (armed_until) on loom.worker_bell to loom_api;
grant select on loom.worker_bell to loom_scheduler;
grant select, update (rev) on loom.user_state, loom.agent_lock to loom_scheduler;
grant select, insert, delete on loom.loom, loom.loom_thread, loom.loom_thread_version, loom.loom_turn, loom.loom_weaving,
  loom.loom_weaving_part, loom.loom_weaving_change to loom_api;
grant update (name, description, seeded_at, night_weaving, quiet_minutes, weaver_model, last_woven_at, last_activity_at,
  last_activity_process_id, activity_credentials, activity_model, last_night_weaving_at, night_weaving_pending,
  night_weaving_not_before, attempts, lease_id, leased_until, updated_at, updated_by) on loom.loom to loom_api;
grant update (text, tags, woven_from, version, weaving_id, updated_at, updated_by, deleted_at) on loom.loom_thread to loom_api;
grant update (woven_by) on loom.loom_turn to loom_api;
grant update (state, started_at, ended_at, error, process_id, model, prompt_tokens, completion_tokens, added, revised, retired, dropped, reverted_at, reverted_by)
  on loom.loom_weaving to loom_api;
grant update (reverted) on loom.loom_weaving_change to loom_api;
grant update (turn_ids, thread_ids, versions, read_at) on loom.loom_weaving_part to loom_api;
grant select on loom.loom to loom_scheduler;
grant select, delete on loom.loom_thread, loom.loom_turn, loom.loom_weaving to loom_scheduler;
-- To lock what is to be removed.
grant update (deleted_at) on loom.loom_thread to loom_scheduler;
grant update (woven_by) on loom.loom_turn to loom_scheduler;
grant update (ended_at) on loom.loom_weaving to loom_scheduler;
grant select, delete, update (outcome) on loom.model_usage to loom_scheduler;

-- What a row is found by is written by whoever writes the row: by triggers, with the writer's rights.
grant select, insert, delete on loom.memory_text, loom.embedding_due to loom_api, loom_scheduler;
grant update (plane, language, content_sha256, words) on loom.memory_text to loom_api, loom_scheduler;
grant update (due_at, lease_id, attempts, last_error) on loom.embedding_due to loom_api, loom_scheduler;
grant select on loom.embedding_model to loom_api, loom_scheduler, loom_search;
grant update (dimension) on loom.embedding_model to loom_api;
grant insert, delete, update (state, activated_at, retired_at, cursor_org, cursor_memory_id, swept_at, total, listed)
  on loom.embedding_model to loom_scheduler;
grant select on loom.person_word, loom.stop_word to loom_api;
grant select on loom.namespace to loom_scheduler, loom_search;
grant select on loom.memory, loom.memory_text to loom_search;
grant execute on function loom._is_searchable(loom.memory), loom._text_changed(loom.memory), loom._embedding_wanted(), loom._text_behind(),
  loom._embedding_list(loom.memory[]), loom._namespace_language(text, text), loom._memory_words(loom.memory, text),
  loom._words(text, text), loom._cjk_runs(text), loom._cjk_pairs(text[]), loom._without_cjk(text),
  loom._search_body(loom.memory), loom._leaves(jsonb), loom._canonical_number(numeric, text), loom._is_double(numeric),
  loom._shortest(double precision), loom._ecmascript_layout(text, integer), loom._plane_of(text), loom._scope_lexemes(loom.memory), loom._scope_lexeme(text, text[]) to loom_scheduler;
-- Searches run as loom_search, since row-level security stops their operators from using an index; what they
-- are given was checked by an operation.
grant execute on function loom._scope_query(loom.caller, loom.search_filter), loom._scope_lexeme(text, text[]),
  loom._any_lexeme(text[]), loom._any_term(tsquery[]), loom._plane_of(text), loom._embedding_index(text),
  loom._is_built(text, text, text, text),
  loom._search_shows(loom.caller, loom.search_filter, text, text, text, text, text, text, text, text[], timestamptz,
    timestamptz, timestamptz)
  to loom_search;
grant execute on function loom._search_text(loom.caller, loom.search_filter, tsquery[], integer) to loom_api;
-- Models of vectors are of the installation, so all about them is the scheduler's.
grant execute on function loom._embedding_models(), loom._embedding_due_count(text, integer),
  loom._embedding_given_up(text, integer), loom._embedding_sweep(loom.embedding_model, integer, timestamptz),
  loom._embedding_restart(loom.embedding_model), loom._embedding_complete(text), loom._embedding_switch(text, timestamptz),
  loom._ts(timestamptz), loom._check_fields(jsonb, text[]), loom._text(jsonb, text, boolean),
  loom._integer(jsonb, text, bigint, bigint), loom._required_identifier(jsonb, text), loom._identifier(jsonb, text, integer),
  loom._fields_refused(jsonb, text[]), loom._text_refused(jsonb, text), loom._integer_given(jsonb, text, bigint, bigint),
  loom._identifier_given(jsonb, text, integer),
  loom._audit(text, text, timestamptz, text, jsonb) to loom_scheduler;
grant insert on loom.audit to loom_scheduler;
grant execute on function loom._embedding_metrics(integer, timestamptz), loom._work_ended(text, timestamptz)
  to loom_scheduler;
grant execute on function loom.embedding_places(jsonb), loom.embedding_claim(jsonb), loom.embedding_store(jsonb),
  loom.embedding_fail(jsonb), loom.embedding_advance(jsonb) to loom_worker;
grant execute on function loom.embedding_progress() to loom_owner;
grant execute on function loom.embedding_model_add(jsonb), loom.embedding_model_activate(jsonb),
  loom.embedding_model_retire(jsonb), loom.embedding_model_drop(jsonb) to loom_owner;

-- Operators read views, which show no text of a user; nobody else does.
grant select on loom.v_locks, loom.v_user_rows, loom.v_due, loom.v_backoff, loom.v_builds, loom.v_usage,
  loom.v_user_profile_tasks, loom.v_full to loom_operator;
