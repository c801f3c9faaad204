create or replace function loom._run(p_op text, p_request jsonb, p_idempotency_key text) returns jsonb
language plpgsql volatile
as $$
declare
  v_function name;
  v_mode text;
  v_answer jsonb;
begin
  select function_name, mode into v_function, v_mode from loom.operation where op = p_op;
  if not found then
    raise exception using errcode = 'LM004', message = 'There is no such operation.',
      hint = 'The operations are listed in the OpenAPI page.';
  end if;
  if p_idempotency_key is not null and v_mode = 'write' then
    return loom._run_once(p_op, v_function, p_request, p_idempotency_key);
  end if;
  -- What is called most is called by name: a dynamic statement is planned each time, which takes 19 µs.
  case p_op
    when 'working_memory.get' then v_answer := loom.working_memory_get(p_request);
    when 'working_memory.set' then v_answer := loom.working_memory_set(p_request);
    when 'working_memory.append' then v_answer := loom.working_memory_append(p_request);
    when 'memory.get' then v_answer := loom.memory_get(p_request);
    when 'memory.set' then v_answer := loom.memory_set(p_request);
    when 'context.pack' then v_answer := loom.context_pack(p_request);
    else execute format('select loom.%I($1)', v_function) into v_answer using p_request;
  end case;
  return v_answer;
end
$$;
comment on function loom._run(text, jsonb, text) is
  'Runs an operation by its wire name; a write with an idempotency key at most once. LM004 when there is no such operation.';
