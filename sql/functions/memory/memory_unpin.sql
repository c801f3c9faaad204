create or replace function loom.memory_unpin(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('memory.unpin', p_request);
begin
  return loom._memory_pin(v_caller, p_request, false);
end
$$;
comment on function loom.memory_unpin(jsonb) is
'Lets a pinned row''s value be changed again, also one that is deleted or redacted. A new version, which does not date the fact anew. Audited.

Request: memory_key*.
Returns: row receipt; noop for a row that is not pinned.
Errors: LM001, LM003, LM102, LM205 locked, LM302, LM406.';
