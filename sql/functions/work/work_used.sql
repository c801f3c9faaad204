create or replace function loom.work_used(
  p_org text, p_namespace text, p_lease_id uuid, p_purpose text, p_model text, p_calls jsonb
) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_now timestamptz := loom._now();
  v_build loom.build;
  v_calls loom.model_usage[] := loom._calls_used(p_purpose, p_model, p_calls);
begin
  v_build := loom._lease_enter(v_org, p_lease_id, v_now);
  perform loom._model_used(v_org, p_namespace, coalesce(v_build.user_id, '-'), p_purpose, p_model, v_calls, v_now);
end
$$;
comment on function loom.work_used(text, text, uuid, text, text, jsonb) is
'Records the calls of a model that were made under a lease, before it is ended, and adds them to what the org has used today. The user is named only while the lease lives, so that nothing of an erased user comes back.

Request: p_purpose, p_model, p_calls [{outcome (OK or a code in capitals), prompt_tokens, completion_tokens, milliseconds}].
Errors: LM001.';
