create or replace function loom.profile_activity(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('profile.activity', p_request);
  v_days integer := coalesce(loom._integer(p_request, 'lookback_days', 1, 30), 30);
  v_since date := (v_caller.called_at at time zone 'UTC')::date - (v_days - 1);
  v_clients jsonb;
begin
  select jsonb_agg(jsonb_build_object('client', client, 'agent', agent, 'label', label, 'reads', reads,
    'last_at', loom._ts(last_at), 'days', days) order by last_at desc, client, agent, label) into v_clients
  from (
    select client, agent, label, sum(reads) as reads, max(last_at) as last_at,
      jsonb_object_agg(day, reads order by day) as days
    from (
      select client, agent, label, day, sum(reads) as reads, max(last_at) as last_at
      from loom.profile_activity
      where org = v_caller.org and namespace = v_caller.namespace and day >= v_since
        and (v_caller.users is null or user_id = any (v_caller.users))
      group by client, agent, label, day
    ) as by_day
    group by client, agent, label
    order by max(last_at) desc, client, agent, label
    limit 1000
  ) as activity;
  return jsonb_build_object('lookback_days', v_days, 'clients', coalesce(v_clients, '[]'));
end
$$;
comment on function loom.profile_activity(jsonb) is
'Which clients read which sections, and when: reads by HTTP, recorded with a delay of seconds. The thousand most recent.

Request: lookback_days (1 to 30, default 30), read_scope (own_user, own_session, namespace).
Returns: lookback_days, clients [{client (token label or role), agent, label, reads, last_at, days {date: reads}}].
Errors: LM001, LM003, LM302, LM406.';
