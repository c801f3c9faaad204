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
  v_calls loom.model_usage[];
begin
  v_calls := loom._calls_used(p_purpose, p_model, p_calls);
  v_build := loom._lease_enter(v_org, p_lease_id, v_now);
  insert into loom.model_usage (org, at, purpose, namespace, user_id, model, prompt_tokens, completion_tokens,
    milliseconds, outcome)
  select v_org, v_now, p_purpose, p_namespace, coalesce(v_build.user_id, '-'), p_model, prompt_tokens, completion_tokens,
    milliseconds, outcome
  from unnest(v_calls);
  -- In order, since rows stay locked until the end.
  insert into loom.model_day as used
    (org, day, purpose, model, outcome, calls, prompt_tokens, completion_tokens, milliseconds)
  select v_org, (v_now at time zone 'UTC')::date, p_purpose, p_model, outcome, count(*), sum(prompt_tokens),
    sum(completion_tokens), sum(milliseconds)
  from unnest(v_calls) group by outcome order by outcome
  on conflict (org, day, purpose, model, outcome) do update
    set calls = used.calls + excluded.calls, prompt_tokens = used.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = used.completion_tokens + excluded.completion_tokens,
      milliseconds = used.milliseconds + excluded.milliseconds;
  perform loom._work_counted(p_purpose, 'tokens',
    (select coalesce(sum(prompt_tokens::bigint + completion_tokens), 0)::bigint from unnest(v_calls)), v_now);
end
$$;
comment on function loom.work_used(text, text, uuid, text, text, jsonb) is
'Records the calls of a model that were made under a lease, before it is ended, and adds them to what the org has used today. The user is named only while the lease lives, so that nothing of an erased user comes back.

Request: p_purpose, p_model, p_calls [{outcome (OK or a code in capitals), prompt_tokens, completion_tokens, milliseconds}].
Errors: LM001.';
