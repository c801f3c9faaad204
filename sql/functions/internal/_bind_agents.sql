create or replace function loom._bind_agents(p_request jsonb) returns text[]
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := coalesce(p_request -> 'agents', 'null');
  v_ok boolean;
begin
  if v_value = 'null' then
    return '{-}';
  end if;
  v_ok := loom._check_strings(v_value, 'agents');
  if jsonb_array_length(v_value) not between 1 and 50 then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'agents', 'reason', 'must name 1 to 50 agents')::text,
      hint = 'Leave it out for a run without agents.';
  end if;
  return array(
    select loom._identifier(jsonb_build_object('agents', agent), 'agents')
    from jsonb_array_elements_text(v_value) with ordinality as named (agent, place) group by agent order by min(place));
end
$$;
comment on function loom._bind_agents(jsonb) is
  'The agents that a run binds looms to, each once, in the order named; - where none is. Errors: LM001, LM406.';
