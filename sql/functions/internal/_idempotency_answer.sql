create or replace function loom._idempotency_answer(
  p_caller loom.caller, p_op text, p_key text, p_hash bigint[]
) returns jsonb
language plpgsql volatile
as $$
declare
  v_stored loom.idempotency;
begin
  select * into v_stored from loom.idempotency
  where org = p_caller.org and actor = p_caller.actor and op = p_op and key = p_key;
  if v_stored.request_hash = p_hash and v_stored.answer is not null then
    return v_stored.answer;
  end if;
  raise exception using errcode = 'LM206', message = 'The idempotency key has been used.',
    detail = jsonb_build_object('reason', case
      when v_stored.request_hash = p_hash and p_op = 'batch' then 'the first answer held what the batch read, which is not kept'
      when v_stored.request_hash = p_hash then 'the first answer held a secret, which is not kept'
      else 'with another request' end)::text,
    hint = 'Use a new key for a new request.';
end
$$;
comment on function loom._idempotency_answer(loom.caller, text, text, bigint[]) is
  'The first answer under a key, for the same request; LM206 for another request, or when the answer is not kept.';
