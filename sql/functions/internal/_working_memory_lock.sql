create or replace function loom._working_memory_lock(p_caller loom.caller, p_block_key text)
returns loom.working_memory
language plpgsql volatile
as $$
declare
  v_block loom.working_memory;
begin
  select * into v_block from loom.working_memory
  where org = p_caller.org and namespace = p_caller.namespace and agent = p_caller.agent
    and user_id = p_caller.user_id and session_id = p_caller.session_id and run_id = p_caller.run_id
    and block_key = p_block_key
  for update;
  return v_block;
end
$$;
comment on function loom._working_memory_lock(loom.caller, text) is
  'The block as it stands now, live or tombstone, locked until the transaction ends; a row of nulls when there is none.';
