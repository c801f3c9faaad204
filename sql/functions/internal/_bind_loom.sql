create or replace function loom._bind_loom(p_caller loom.caller, p_request jsonb, p_agent text) returns loom.loom
language plpgsql volatile
as $$
declare
  v_loom_id uuid := loom._uuid(p_request, 'loomId');
begin
  if v_loom_id is null then
    return loom._loom_of_scope(p_caller, p_request, p_agent);
  end if;
  return loom._loom_in_reach(p_caller, v_loom_id);
end
$$;
comment on function loom._bind_loom(loom.caller, jsonb, text) is
  'The loom that a run binds to an agent: the one named, or that of the scope. Errors: LM001, LM103, LM406, LM407.';
