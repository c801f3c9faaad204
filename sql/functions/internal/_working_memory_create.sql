create or replace function loom._working_memory_create(
  p_caller loom.caller, p_block_key text, p_content text, p_char_limit integer,
  p_description text, p_read_only boolean, p_tombstoned boolean
) returns loom.working_memory
language plpgsql volatile
as $$
declare
  v_block loom.working_memory;
begin
  if p_tombstoned then
    update loom.working_memory
    set content = p_content, char_limit = p_char_limit, description = p_description,
      read_only = p_read_only, version = version + 1, created_at = p_caller.called_at,
      created_by = p_caller.actor, updated_at = greatest(updated_at, p_caller.called_at), updated_by = p_caller.actor,
      deleted_at = null
    where org = p_caller.org and namespace = p_caller.namespace and agent = p_caller.agent
      and user_id = p_caller.user_id and session_id = p_caller.session_id and run_id = p_caller.run_id
      and block_key = p_block_key and deleted_at is not null
    returning * into v_block;
  else
    insert into loom.working_memory (org, namespace, agent, user_id, session_id, run_id, block_key,
      content, char_limit, description, read_only, version,
      created_at, created_by, updated_at, updated_by)
    values (p_caller.org, p_caller.namespace, p_caller.agent, p_caller.user_id, p_caller.session_id,
      p_caller.run_id, p_block_key, p_content, p_char_limit, p_description, p_read_only, 1,
      p_caller.called_at, p_caller.actor, p_caller.called_at, p_caller.actor)
    on conflict do nothing
    returning * into v_block;
  end if;
  return v_block;
end
$$;
comment on function loom._working_memory_create(loom.caller, text, text, integer, text, boolean, boolean) is
  'Makes a block where none is live: over its locked tombstone with the next version, else new with version 1. A row of nulls when a rival made it first; the caller then starts again.';
