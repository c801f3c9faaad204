create or replace function loom.weaving_read(p_org text, p_lease_id uuid, p_user_id text, p_agent text) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_loom loom.loom := loom._weaving_enter(v_org, p_lease_id, p_user_id);
  v_now timestamptz := loom._now();
  v_part loom.loom_weaving_part;
  v_turns jsonb;
  v_threads jsonb;
begin
  if v_loom.loom_id is null then
    return jsonb_build_object('found', false);
  end if;
  -- A whole lease for each part: however many users a loom has, a worker that goes on is no dead one.
  update loom.loom
  set leased_until = v_now + make_interval(secs => loom._night_weaving_setting('lease_seconds', 600)::double precision)
  where org = v_org and loom_id = v_loom.loom_id
  returning * into v_loom;
  select array_agg(turn_id order by at, turn_id),
    jsonb_agg(jsonb_build_object('agent', nullif(agent, '-'), 'at', loom._ts(at), 'text', text) order by at, turn_id)
  into v_part.turn_ids, v_turns
  from (
    select *, sum(char_length(text)) over (order by at, turn_id) as characters
    from (
      select * from loom.loom_turn
      where org = v_org and loom_id = v_loom.loom_id and woven_by is null and user_id = p_user_id
        and (p_agent = '-' or agent = p_agent)
      order by at, turn_id limit 200
    ) as oldest
  ) as turn where characters <= 60000;
  select array_agg(thread_id order by created_at, thread_id), array_agg(version order by created_at, thread_id),
    jsonb_agg(jsonb_build_object('text', text, 'tags', to_jsonb(tags)) order by created_at, thread_id)
  into v_part.thread_ids, v_part.versions, v_threads
  from loom._weaving_threads(v_loom, p_user_id, p_agent, 200, 60000);
  insert into loom.loom_weaving_part as part (org, namespace, weaving_id, user_id, agent, turn_ids, thread_ids, versions, read_at)
  select v_org, v_loom.namespace, weaving_id, p_user_id, p_agent, coalesce(v_part.turn_ids, '{}'),
    coalesce(v_part.thread_ids, '{}'), coalesce(v_part.versions, '{}'), v_now
  from loom.loom_weaving where org = v_org and loom_id = v_loom.loom_id and state = 'running'
  on conflict (org, weaving_id, user_id, agent) do update
    set turn_ids = excluded.turn_ids, thread_ids = excluded.thread_ids, versions = excluded.versions, read_at = excluded.read_at;
  return jsonb_build_object('found', true, 'turns', coalesce(v_turns, '[]'), 'threads', coalesce(v_threads, '[]'),
    'context', loom._weaving_context(v_loom, p_user_id, p_agent), 'retire_left', loom._retire_left(v_loom, v_now),
    'model_calls', loom._model_calls(v_org), 'seconds_left', greatest(extract(epoch from v_loom.leased_until - loom._now()), 0));
end
$$;
comment on function loom.weaving_read(text, uuid, text, text) is
'What the model is given of one user: the turns since the last weaving, the oldest first, as far as they have 60,000 characters; the threads that it may change, the newest as far as that; and for context what else the agent knows. What was read is noted, and a change holds good for just that. Read it right before the call of a model, and call none when model_calls is false. The lease begins anew with each part.

Request: p_agent (- for the shared threads).
Returns: found (false: the lease is over), turns [{agent, at, text}], threads [{text, tags}], both numbered from 1, context [text], retire_left, model_calls, seconds_left.
Errors: LM001.';
