create or replace function loom._working_memory_read_only(p_caller loom.caller, p_request jsonb) returns boolean
language plpgsql immutable
as $$
declare
  v_read_only boolean := loom._boolean(p_request, 'read_only');
begin
  if v_read_only is not null and not p_caller.is_admin then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'role', 'needed', 'admin')::text,
      hint = 'Only an admin sets or clears read_only.';
  end if;
  return v_read_only;
end
$$;
comment on function loom._working_memory_read_only(loom.caller, jsonb) is
  'The read_only field of a set, which only an admin may name (LM302); null when left out.';
