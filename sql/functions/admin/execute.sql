create or replace function loom.execute(p_op text, p_request jsonb, p_idempotency_key text) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
begin
  return loom._run(p_op, p_request, p_idempotency_key);
end
$$;
comment on function loom.execute(text, jsonb, text) is
'Runs an operation by its wire name for a trusted service, with an idempotency key: the same key and request again within 24 hours gives the first answer and has no second effect.

Request: wire name, the operation''s request, the key (200 characters at most; null for none).
Returns: the operation''s answer.
Errors: LM004 unknown operation, LM206 key used for another request, LM406 key too long, and those of the operation.';
