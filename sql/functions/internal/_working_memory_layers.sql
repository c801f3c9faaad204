create or replace function loom._working_memory_layers(p_caller loom.caller, p_layered boolean)
returns setof loom.memory_layer
language plpgsql immutable rows 5
set search_path = loom, pg_temp
as $$
begin
  return query
  select layer.* from (values
    (1, 'run', p_caller.agent, p_caller.user_id, p_caller.session_id, p_caller.run_id),
    (2, 'session', p_caller.agent, p_caller.user_id, p_caller.session_id, '-'),
    (3, 'user', p_caller.agent, p_caller.user_id, '-', '-'),
    (4, 'agent', p_caller.agent, '-', '-', '-'),
    (5, 'namespace', '-', '-', '-', '-')
  ) as layer (distance, name, agent, user_id, session_id, run_id)
  -- Where a level is not set, the next wider layer is the same place and gives it its name.
  where case layer.distance
      when 1 then p_caller.run_id <> '-'
      when 2 then p_caller.session_id <> '-'
      when 3 then p_caller.user_id <> '-'
      when 4 then p_caller.agent <> '-'
      else true
    end
  order by layer.distance
  limit case when p_layered then 5 else 1 end;
end
$$;
comment on function loom._working_memory_layers(loom.caller, boolean) is
  'The places a render reads, narrowest first: only the exact scope, or all layers around it.';
