create or replace function loom.embedding_fail(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_request jsonb := loom._check_fields(p_request, '{org,model,lease_id,outcome,error,retry_seconds,calls}');
  v_org text := loom._work_enter(loom._text(v_request, 'org', true));
  v_model text := loom._text(v_request, 'model', true);
  v_lease uuid := loom._uuid(v_request, 'lease_id', true);
  v_outcome text := loom._choice(v_request, 'outcome', '{failed,waiting,released}');
  v_error text := loom._text(v_request, 'error', true);
  v_retry integer := loom._integer(v_request, 'retry_seconds', 0, 86400);
  v_calls loom.model_usage[] := case when v_request ? 'calls'
    then loom._calls_used('embedding', v_model, v_request -> 'calls') end;
  v_now timestamptz := loom._now();
  v_ended bigint;
begin
  if v_outcome is null or v_error !~ '^[A-Z][A-Z0-9_]{0,63}$' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'outcome',
        'reason', 'must be failed, waiting or released, with an error that is a code')::text,
      hint = 'What a provider said is never stored: it may hold a user''s text.';
  end if;
  update loom.embedding_due
  set lease_id = null, last_error = v_error,
    attempts = case v_outcome when 'failed' then attempts else attempts - 1 end,
    due_at = case v_outcome
      when 'released' then v_now
      when 'waiting' then v_now + make_interval(secs => coalesce(v_retry, 60))
      else loom._embedding_wait(attempts, v_now) end
  where (org, memory_id, model) in (
    select org, memory_id, model from loom.embedding_due
    where org = v_org and model = v_model and lease_id = v_lease
    for update skip locked);
  get diagnostics v_ended = row_count;
  if v_calls is not null then
    perform loom._model_used(v_org, '-', '-', 'embedding', v_model, v_calls, v_now);
  end if;
  if v_ended > 0 then
    perform loom._work_counted('embedding', v_outcome, v_ended, v_now);
  end if;
  return jsonb_build_object('ended', v_ended);
end
$$;
comment on function loom.embedding_fail(jsonb) is
'Ends what is left of a lease. failed: the attempt stays counted and its texts wait a minute, doubled each time, six hours at most; after eight attempts they are given up until they change. waiting: the provider could not serve, so no attempt is used up and they wait as long as it said, or a minute. released: a worker that stops gives them back.

Request: org*, model*, lease_id*, outcome* (failed, waiting, released), error* (a code in capitals), retry_seconds (waiting), calls [{outcome, prompt_tokens, completion_tokens, milliseconds}].
Returns: ended (how many texts).
Errors: LM001.';
