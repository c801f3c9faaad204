create or replace function loom._memory_find(
  p_caller loom.caller, p_key text, p_id uuid, p_past boolean
) returns loom.memory
language plpgsql volatile
as $$
declare
  v_row loom.memory;
begin
  if p_id is not null then
    select * into v_row from loom.memory as candidate
    where org = p_caller.org and memory_id = p_id and namespace = p_caller.namespace
      and loom._in_reach(candidate, p_caller);
    return v_row;
  end if;
  select * into v_row from loom.memory as candidate
  where org = p_caller.org and namespace = p_caller.namespace and agent = p_caller.agent
    and user_id = p_caller.user_id and session_id = p_caller.session_id and memory_key = p_key
    and loom._in_reach(candidate, p_caller);
  if v_row.memory_id is not null and (p_past or loom._is_current(v_row, p_caller.called_at)) then
    return v_row;
  end if;
  return loom._memory_nearest(p_caller, p_key, v_row);
end
$$;
comment on function loom._memory_find(loom.caller, text, uuid, boolean) is
  'The row a read means, whatever its state: by id, else by key that of exactly the caller''s identity where it is current (or what is left of it, when the past is asked for), else the nearest current one in reach.';
