create or replace function loom._model_used(
  p_org text, p_namespace text, p_user_id text, p_purpose text, p_model text, p_calls loom.model_usage[], p_at timestamptz
) returns void
language plpgsql volatile
as $$
begin
  insert into loom.model_usage (org, at, purpose, namespace, user_id, model, prompt_tokens, completion_tokens,
    milliseconds, outcome)
  select p_org, p_at, p_purpose, p_namespace, p_user_id, p_model, prompt_tokens, completion_tokens,
    milliseconds, outcome
  from unnest(p_calls);
  -- In order, since rows stay locked until the end.
  insert into loom.model_day as used
    (org, day, purpose, model, outcome, calls, prompt_tokens, completion_tokens, milliseconds)
  select p_org, (p_at at time zone 'UTC')::date, p_purpose, p_model, outcome, count(*), sum(prompt_tokens),
    sum(completion_tokens), sum(milliseconds)
  from unnest(p_calls) group by outcome order by outcome
  on conflict (org, day, purpose, model, outcome) do update
    set calls = used.calls + excluded.calls, prompt_tokens = used.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = used.completion_tokens + excluded.completion_tokens,
      milliseconds = used.milliseconds + excluded.milliseconds;
  perform loom._work_counted(p_purpose, 'tokens',
    (select coalesce(sum(prompt_tokens::bigint + completion_tokens), 0)::bigint from unnest(p_calls)), p_at);
end
$$;
comment on function loom._model_used(text, text, text, text, text, loom.model_usage[], timestamptz) is
  'Records calls of a model, and adds them to what the org has used today and to what all have.';
