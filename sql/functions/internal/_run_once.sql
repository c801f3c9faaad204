create or replace function loom._run_once(p_op text, p_function name, p_request jsonb, p_key text) returns jsonb
language plpgsql volatile
as $$
declare
  v_caller loom.caller := loom._admit(p_op, p_request, false);
  v_org text := v_caller.org;
  v_actor text := v_caller.actor;
  v_hash bigint[] := loom._request_hash(p_request, v_caller);
  v_users text[] := loom._request_users(p_request, v_caller);
  v_added jsonb := '{}';
  v_answer jsonb;
begin
  if char_length(p_key) not between 1 and 200 then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'idempotency_key', 'limit', 200, 'value', char_length(p_key))::text,
      hint = 'An idempotency key has 1 to 200 characters.';
  end if;
  if p_op = 'erasure.request' then
    -- What is kept of an erasure does not name whom it erased.
    v_users := '{}';
    v_added := jsonb_build_object('user_id', v_caller.user_id);
  end if;
  -- Before the stored answer is touched: an erasure holds the users when it looks for answers.
  perform pg_advisory_xact_lock_shared(loom._user_lock_key(v_org, user_id)) from unnest(v_users) as user_id;
  if p_op = 'batch' or loom._string(p_request, 'readScope') = 'namespace' then
    -- What it read may be anyone's: an erasure or redaction beside it waits until its answer can be seen.
    perform pg_advisory_xact_lock_shared(loom._user_lock_key(v_org, '*'));
  end if;
  if not loom._idempotency_claim(v_caller, p_op, p_key, v_hash) then
    return loom._idempotency_answer(v_caller, p_op, p_key, v_hash) || v_added;
  end if;
  execute format('select loom.%I($1)', p_function) into v_answer using p_request;
  update loom.idempotency
  set answer = loom._answer_to_keep(p_op, v_answer), user_ids = v_users
  where org = v_org and actor = v_actor and op = p_op and key = p_key;
  insert into loom.idempotency_user (org, user_id, namespace, actor, op, key)
  select v_org, place.user_id, place.namespace, v_actor, p_op, p_key
  from loom._answer_places(p_op, p_request, v_caller, v_answer) as place;
  return v_answer;
end
$$;
comment on function loom._run_once(text, name, jsonb, text) is
  'Runs a write under an idempotency key. Rivals with the same key wait for the first one to end: they get its answer when it succeeded and run when it failed.';
