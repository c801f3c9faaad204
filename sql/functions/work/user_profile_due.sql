create or replace function loom.user_profile_due() returns setof text
language plpgsql volatile security definer rows 20
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := loom._now();
begin
  -- One look-up an org, whatever waits in it: no org hides the others behind what it may not do now.
  return query
  with recursive place (org) as (
    (select task.org from loom.user_profile_task as task where due_at is not null order by task.org limit 1)
    union all
    select (
      select task.org from loom.user_profile_task as task
      where task.org > place.org and due_at is not null order by task.org limit 1)
    from place where place.org is not null
  )
  select place.org
  from place cross join lateral (
    select due_at from loom.user_profile_task as task
    where task.org = place.org and due_at <= v_now order by due_at limit 1
  ) as due
  where loom._model_calls(place.org)
  order by due.due_at;
end
$$;
comment on function loom.user_profile_due() is
'The orgs in which signals wait for a model, a worker may take them now and a model may be called, longest due first.

Returns: orgs.';
alter function loom.user_profile_due() owner to loom_scheduler;
