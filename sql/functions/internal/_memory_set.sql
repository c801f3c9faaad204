create or replace function loom._memory_set(p_caller loom.caller, p_key text, p_type text, p_request jsonb)
returns jsonb
language plpgsql volatile
as $$
declare
  v_value jsonb := loom._memory_value(p_request);
  v_if_absent boolean := loom._if_absent(p_request);
  v_old loom.memory := loom._memory_lock(p_caller, p_key);
  v_at timestamptz := loom._memory_now(v_old);
begin
  if v_if_absent and v_old.version is not null and loom._is_current(v_old, v_at) then
    raise exception using errcode = 'LM202', message = 'There is one already.',
      hint = 'Leave if_absent out to write over it.';
  end if;
  return loom._memory_edit(p_caller, v_old, v_at, v_value, p_type, p_request, 'set');
end
$$;
comment on function loom._memory_set(loom.caller, text, text, jsonb) is
  'Writes a whole value, for memory.set and profile.set. LM202 for if_absent over a current row, and the errors of an edit.';
