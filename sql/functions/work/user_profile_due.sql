create or replace function loom.user_profile_due() returns setof text
language plpgsql volatile security definer rows 20
set search_path = loom, pg_temp
as $$
declare
  v_now timestamptz := loom._now();
begin
  return query
  select org from (
    select org, due_at from loom.user_profile_task where due_at <= v_now order by due_at limit 1000
  ) as due
  group by org order by min(due_at);
end
$$;
comment on function loom.user_profile_due() is
'The orgs in which signals wait for a model and a worker may take them now, longest due first.

Returns: orgs.';
alter function loom.user_profile_due() owner to loom_scheduler;
