create or replace function loom._memory_named(p_caller loom.caller, p_request jsonb, p_past boolean) returns loom.memory
language plpgsql volatile
as $$
declare
  v_key text := loom._identifier(p_request, 'memory_key');
  v_id uuid := loom._uuid(p_request, 'memory_id');
  v_ok boolean := loom._check_memory_named(v_key, v_id);
begin
  return loom._memory_find(p_caller, v_key, v_id, p_past);
end
$$;
comment on function loom._memory_named(loom.caller, jsonb, boolean) is
  'The row that a read names by memory_key or memory_id; nulls when there is none in reach. LM001 unless it names one of them.';
