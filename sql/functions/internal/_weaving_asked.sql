create or replace function loom._weaving_asked(p_at timestamptz) returns setof loom.loom
language plpgsql stable rows 20
set search_path = loom, pg_temp
as $$
begin
  return query
    select held.* from loom.loom as held
    join (
      select org, loom_id from loom.loom_weaving where state = 'queued' order by requested_at limit 1000
    ) as asked on asked.org = held.org and asked.loom_id = held.loom_id
    where held.lease_id is null or held.leased_until <= p_at
    union all
    (select * from loom.loom where lease_id is not null and leased_until <= p_at order by leased_until limit 1000);
end
$$;
comment on function loom._weaving_asked(timestamptz) is
  'Looms of all orgs that somebody asked to be woven, and those whose lease ran out.';
