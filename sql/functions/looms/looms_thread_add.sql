create or replace function loom.looms_thread_add(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.thread_add', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_agent text := coalesce(loom._identifier(p_request, 'agent'), '-');
  v_text text := loom._loom_text(p_request);
  v_tags text[] := coalesce(loom._tags(p_request, 'tags'), '{}');
  v_org text := v_caller.org;
  v_loom loom.loom;
  v_thread loom.loom_thread;
  v_ok boolean;
begin
  perform loom._loom_sessionless(v_caller);
  v_loom := loom._loom_locked(v_caller, v_loom_id);
  v_caller.namespace := v_loom.namespace;
  v_ok := loom._blacklist_check(v_caller, array[v_text] || v_tags);
  v_caller.called_at := loom._now();  -- behind the lock, so that threads stand in the order in which they came
  insert into loom.loom_thread (org, namespace, loom_id, user_id, agent, text, tags, created_at, created_by, updated_at, updated_by)
  values (v_org, v_loom.namespace, v_loom_id, v_caller.user_id, v_agent, v_text, v_tags, v_caller.called_at, v_caller.actor,
    v_caller.called_at, v_caller.actor)
  returning * into v_thread;
  update loom.loom
  set last_woven_at = v_caller.called_at, updated_at = v_caller.called_at, updated_by = v_caller.actor
  where org = v_org and loom_id = v_loom_id;
  return jsonb_build_object('entity', loom._loom_thread_json(v_thread));
end
$$;
comment on function loom.looms_thread_add(jsonb) is
'Weaves a thread into a loom: shared by its agents, or an agent''s own.

Request: loomId*, text* (16384 characters at most), agent (shared when left out), tags.
Returns: entity (the thread).
Errors: LM001, LM003, LM103, LM302, LM406, LM407.';
