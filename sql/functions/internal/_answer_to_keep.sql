create or replace function loom._answer_to_keep(p_op text, p_request jsonb, p_answer jsonb) returns jsonb
language plpgsql stable
set search_path = loom, pg_temp
as $$
begin
  if p_op = 'token.mint' then
    return null;
  end if;
  if p_op = 'erasure.request' then
    return p_answer - 'user_id';
  end if;
  -- What a batch read may be of other users than those it wrote under, or be redacted tomorrow.
  if p_op = 'batch' and exists (
    select from jsonb_path_query(p_request, '$.requests[*].op') as item (op)
    join loom.operation as read on read.op = item.op #>> '{}' and read.mode = 'read' and 'read_scope' = any (read.fields)
  ) then
    return null;
  end if;
  return p_answer;
end
$$;
comment on function loom._answer_to_keep(text, jsonb, jsonb) is
  'What is stored of an answer under an idempotency key: no secret, no memory that a batch read, no name of an erased user. Null for nothing.';
