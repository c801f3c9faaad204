create or replace function loom._memory_lock(p_caller loom.caller, p_key text) returns loom.memory
language plpgsql volatile
as $$
declare
  v_row loom.memory;
begin
  perform loom._state_lock(p_caller);
  select * into v_row from loom.memory
  where org = p_caller.org and namespace = p_caller.namespace and agent = p_caller.agent
    and user_id = p_caller.user_id and session_id = p_caller.session_id and memory_key = p_key
  for update;
  if v_row.memory_id is null then
    v_row.org := p_caller.org;
    v_row.namespace := p_caller.namespace;
    v_row.agent := p_caller.agent;
    v_row.user_id := p_caller.user_id;
    v_row.session_id := p_caller.session_id;
    v_row.memory_key := p_key;
  end if;
  return v_row;
end
$$;
comment on function loom._memory_lock(loom.caller, text) is
  'The row of a key as it stands now, whatever its state, locked behind the user''s state row; memory_id and version are null when there is none.';
