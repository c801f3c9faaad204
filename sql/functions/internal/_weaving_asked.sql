create or replace function loom._weaving_asked(p_at timestamptz) returns setof loom.loom
language plpgsql stable rows 20
as $$
begin
  return query
    -- So many of each org, since one that asks for much, or is not to be served now, must not hide the others.
    select held.* from (select distinct org from loom.namespace) as tenant
    cross join lateral (
      select org, loom_id from loom.loom_weaving
      where org = tenant.org and state = 'queued' order by requested_at limit 1000
    ) as asked
    join loom.loom as held on held.org = asked.org and held.loom_id = asked.loom_id
    where held.lease_id is null or held.leased_until <= p_at
    union all
    (select * from loom.loom where lease_id is not null and leased_until <= p_at order by leased_until limit 1000);
end
$$;
comment on function loom._weaving_asked(timestamptz) is
  'Looms of all orgs that somebody asked to be woven, and those whose lease ran out.';
