create or replace function loom._memory_to_redact(p_caller loom.caller, p_request jsonb) returns loom.memory
language plpgsql volatile
as $$
declare
  v_key text := loom._identifier(p_request, 'memory_key');
  v_id uuid := loom._uuid(p_request, 'memory_id');
  v_ok boolean := loom._check_memory_named(v_key, v_id);
  v_row loom.memory;
begin
  if v_id is not null then
    -- By id the row says itself whose it is, and so which locks come first.
    select * into v_row from loom.memory
    where org = p_caller.org and memory_id = v_id and namespace = p_caller.namespace;
    v_key := v_row.memory_key;
    p_caller.agent := v_row.agent;
    p_caller.session_id := v_row.session_id;
    if v_row.user_id <> p_caller.user_id then
      p_caller.user_id := v_row.user_id;
      perform pg_advisory_xact_lock_shared(loom._user_lock_key(p_caller.org, p_caller.user_id));
    end if;
  end if;
  -- Behind the users and before their rows: stored answers that may speak of anyone.
  perform pg_advisory_xact_lock(loom._user_lock_key(p_caller.org, '*'));
  if v_key is not null then
    v_row := loom._memory_lock(p_caller, v_key);
  end if;
  if v_row.memory_id is null or v_row.memory_id <> v_id then
    raise exception using errcode = 'LM102', message = 'There is no such memory.',
      hint = 'memory.list names what there is.';
  end if;
  return v_row;
end
$$;
comment on function loom._memory_to_redact(loom.caller, jsonb) is
  'The row a redaction names by key or by id, whatever its state, locked. LM001, LM102.';
