create or replace function loom.looms_bind(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.bind', p_request);
  v_agents text[] := loom._bind_agents(p_request);
  v_agent text;
  v_loom loom.loom;
  v_seeded boolean;
  v_text loom.rendered;
  v_bindings jsonb := '{}';
begin
  perform loom._bind_check(p_request);
  v_caller := loom._loom_reach(loom._loom_place(v_caller, p_request), p_request);
  -- In byte order, so that two runs with the same agents do not wait for one another in a circle.
  for v_agent in select distinct agent collate "C" from unnest(v_agents) as agent order by 1 loop
    v_loom := loom._bind_loom(v_caller, p_request, v_agent);
    v_seeded := v_loom.seed_from_loom_id is not null and v_loom.seeded_at is null;
    if v_seeded then
      v_loom := loom._loom_seed(v_caller, v_loom);
    end if;
    v_text := loom._loom_wake_up(v_caller, v_loom, v_agent);
    v_bindings := v_bindings || jsonb_build_object(v_agent, jsonb_build_object('agent', nullif(v_agent, '-'),
      'loom', loom._loom_json(v_loom), 'wakeUpText', v_text.body, 'threadCount', v_text.parts,
      'seeded', v_loom.seeded_at is not null));
  end loop;
  return jsonb_build_object('bindings', (
    select jsonb_agg(v_bindings -> agent order by place) from unnest(v_agents) with ordinality as named (agent, place)));
end
$$;
comment on function loom.looms_bind(jsonb) is
'Binds looms to the agents of a run when it starts, and says what each wakes up with: the shared threads and its own, of the named user and of -. By scope the loom is found or made: one of the interaction, of each agent in it, of a value of its input (scopeValue), or of this run (processId); loomId binds that one. A new loom with seedFromLoomId has that loom''s shared threads copied in by its first wake-up, once.

Request: namespaceId (or the namespace by name, or the token''s), processId, interactionId, agents (1 to 50, none when left out), scope (interaction, agent, input, run), scopeValue, loomId (instead of scope), seedFromLoomId, readScope (own_user, own_session, namespace).
Returns: bindings [{agent, loom, wakeUpText, threadCount (how many threads the text holds), seeded}].
Errors: LM001, LM003, LM103, LM302, LM406, LM407.';
