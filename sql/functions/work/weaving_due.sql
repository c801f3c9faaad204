create or replace function loom.weaving_due(p_most integer, p_night boolean) returns setof loom.weaving_place
language plpgsql volatile security definer rows 20
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := loom._now();
begin
  return query
    with candidate as (
      select * from loom._weaving_asked(v_now)
      union all
      select * from loom._weaving_due(p_most, v_now) where p_night
    ), allowed as (
      select named.org from (select distinct candidate.org from candidate) as named
      where loom._model_stop(named.org, v_now) is null
    ), placed as (
      -- One of each org before a second of any; in an org whoever was woven longest ago.
      select candidate.org, candidate.loom_id, candidate.last_night_weaving_at,
        row_number() over (partition by candidate.org order by candidate.last_night_weaving_at nulls first, candidate.loom_id) as place
      from candidate join allowed using (org)
      group by candidate.org, candidate.loom_id, candidate.last_night_weaving_at
    )
    select placed.org, placed.loom_id from placed
    order by placed.place, placed.last_night_weaving_at nulls first, placed.loom_id
    limit p_most;
end
$$;
comment on function loom.weaving_due(integer, boolean) is
'Looms that a worker may claim now: those somebody asked to be woven, those whose worker died, and with p_night those that are due by the clock. No loom of an org whose model calls are switched off or whose tokens of the day are used.

Returns: org, loom_id, at most so many; orgs take turns.';
alter function loom.weaving_due(integer, boolean) owner to loom_scheduler;
