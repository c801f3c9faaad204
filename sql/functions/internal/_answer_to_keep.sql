create or replace function loom._answer_to_keep(p_op text, p_answer jsonb) returns jsonb
language plpgsql immutable
as $$
begin
  if p_op = 'token.mint' then
    return null;
  end if;
  if p_op = 'erasure.request' then
    return p_answer - 'user_id';
  end if;
  return p_answer;
end
$$;
comment on function loom._answer_to_keep(text, jsonb) is
  'What is stored of an answer under an idempotency key: no secret, no name of an erased user. Null for nothing.';
