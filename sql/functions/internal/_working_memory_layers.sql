create or replace function loom._working_memory_layers(p_caller loom.caller) returns loom.memory_layer[]
language plpgsql immutable
as $$
begin
  -- Where a level is not set, the next wider layer is the same place and gives it its name.
  return array_remove(array[
    case when p_caller.run_id <> '-' then
      row(1, 'run', p_caller.agent, p_caller.user_id, p_caller.session_id, p_caller.run_id)::loom.memory_layer end,
    case when p_caller.session_id <> '-' then
      row(2, 'session', p_caller.agent, p_caller.user_id, p_caller.session_id, '-')::loom.memory_layer end,
    case when p_caller.user_id <> '-' then
      row(3, 'user', p_caller.agent, p_caller.user_id, '-', '-')::loom.memory_layer end,
    case when p_caller.agent <> '-' then row(4, 'agent', p_caller.agent, '-', '-', '-')::loom.memory_layer end,
    row(5, 'namespace', '-', '-', '-', '-')::loom.memory_layer
  ], null);
end
$$;
comment on function loom._working_memory_layers(loom.caller) is
  'The places around the exact scope of a caller, that one and all wider ones, narrowest first.';
