create or replace function loom.weaving_used(p_org text, p_lease_id uuid, p_model text, p_calls jsonb) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_calls loom.model_usage[] := loom._calls_used('night_weaving', p_model, p_calls);
  v_loom loom.loom := loom._weaving_enter(v_org, p_lease_id, null);
begin
  perform loom._model_used(v_org, coalesce(v_loom.namespace, '-'), '-', 'night_weaving', p_model, v_calls, loom._now());
  update loom.loom_weaving as weaving
  set model = p_model, prompt_tokens = weaving.prompt_tokens + told.prompt, completion_tokens = weaving.completion_tokens + told.completion
  from (select sum(prompt_tokens::bigint) as prompt, sum(completion_tokens::bigint) as completion from unnest(v_calls)) as told
  where weaving.org = v_org and weaving.loom_id = v_loom.loom_id and weaving.state = 'running';
end
$$;
comment on function loom.weaving_used(text, uuid, text, jsonb) is
'Records the calls of a model that a weaving made, for the org''s day and for the run whose credentials it used: the weaving says which run that is.

Request: p_model, p_calls [{outcome (OK or a code in capitals), prompt_tokens, completion_tokens, milliseconds}].
Errors: LM001.';
