create or replace function loom.memory_pin(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.pin', p_request);
begin
  return loom._memory_pin(v_caller, p_request, true);
end
$$;
comment on function loom.memory_pin(jsonb) is
'Holds a row''s value: a caller''s changed value is then refused. A new version, which does not date the fact anew. Audited.

Request: memory_key*.
Returns: row receipt; noop for a row that is pinned already.
Errors: LM001, LM003, LM102, LM205 locked, LM302, LM406.';
