create or replace function loom._enter(p_op text, p_request jsonb) returns loom.caller
language sql volatile
as $$
  select loom._admit(p_op, p_request, true)
$$;
comment on function loom._enter(text, jsonb) is
  'First statement of every operation: admits the caller (loom._admit) and records an admin operation under open mode. Errors: LM001, LM003, LM302, LM406.';
