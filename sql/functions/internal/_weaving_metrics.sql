create or replace function loom._weaving_metrics(p_at timestamptz) returns jsonb
language plpgsql volatile
as $$
declare
  v_quiet integer := loom._night_weaving_setting('quiet_minutes', 5);
  v_interval interval := make_interval(secs => loom._night_weaving_setting('interval_seconds', 60)::double precision);
  v_due bigint;
  v_since timestamptz;
begin
  select count(*), min(coalesce(asked.at, held.leased_until, v_interval + greatest(held.night_weaving_not_before,
    held.last_activity_at + make_interval(mins => coalesce(held.quiet_minutes, namespace.quiet_minutes, v_quiet)))))
  into v_due, v_since
  from loom.weaving_due(1000, true) as place
  join loom.loom as held on held.org = place.org and held.loom_id = place.loom_id
  join loom.namespace as namespace on namespace.org = held.org and namespace.name = held.namespace
  left join lateral (
    select min(requested_at) as at from loom.loom_weaving
    where org = held.org and loom_id = held.loom_id and state = 'queued'
  ) as asked on true;
  return jsonb_build_object('due', v_due, 'due_is_more', v_due = 1000,
    'oldest_due_seconds', case when v_since <= p_at then extract(epoch from p_at - v_since) end,
    'under_way', exists (select from loom.loom where lease_id is not null and leased_until > p_at));
end
$$;
comment on function loom._weaving_metrics(timestamptz) is
  'How many looms are to be woven, across orgs, and for how long a worker could have found the one that is due longest: by the clock it looks once an interval.';
