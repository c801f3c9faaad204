create or replace function loom.call(
  p_org uuid, p_token_hash bytea, p_op text, p_request jsonb, p_idempotency_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_now timestamptz := loom._now();
  v_grant jsonb;
  v_answer jsonb;
begin
  if p_token_hash is null then
    v_grant := loom._open_grant(v_now);
  else
    v_grant := loom._token_grant(p_org, p_token_hash, v_now);
  end if;
  -- Refuses what is no object, and a client's own _caller, which is an unknown field like any other.
  if jsonb_typeof(p_request) is distinct from 'object' or p_request ? '_caller' then
    perform loom._check_fields(p_request, coalesce((select accepted from loom.operation where op = p_op), '{}'));
  end if;
  v_answer := loom._run(p_op, p_request || jsonb_build_object('_caller', v_grant), p_idempotency_key);
  if v_grant ->> 'touch' is not null then
    -- At the end, since a call that held its token's row while it waits could close a circle.
    perform loom._token_touch(v_grant ->> 'org', (v_grant ->> 'touch')::uuid, v_now);
  end if;
  return v_answer;
end
$$;
comment on function loom.call(uuid, bytea, text, jsonb, text) is
'The API''s one statement: checks the token (or open mode), then runs the operation by name.

Request: the org uuid and the SHA-256 of the secret that the token''s text carries (both null without a token), the operation''s wire name, its request, and the client''s idempotency key.
Returns: the operation''s answer.
Errors: LM004 unknown operation, LM206 idempotency key used for another request, LM301 no valid token, LM406 key too long, and those of the operation.';
