create or replace function loom._weaving_due(p_most integer, p_at timestamptz) returns setof loom.loom
language plpgsql stable rows 20
as $$
declare
  v_default boolean := loom._night_weaving_default();
  v_quiet integer := loom._night_weaving_setting('quiet_minutes', 5);
begin
  return query
    -- So many of each org, since the orgs take turns, and one that is not to be served now must not hide the others.
    select due.* from (select distinct org from loom.namespace) as tenant
    cross join lateral (
      (select own.* from loom.loom as own
      join loom.namespace as place on place.org = own.org and place.name = own.namespace
      where own.org = tenant.org
        and own.night_weaving_pending and (own.night_weaving or (own.night_weaving is null and own.quiet_minutes is not null))
        and own.last_activity_at <= p_at and coalesce(own.night_weaving_not_before, '-infinity') <= p_at
        and coalesce(own.night_weaving, place.night_weaving, v_default) and own.lease_id is null
        and own.last_activity_at + make_interval(mins => coalesce(own.quiet_minutes, place.quiet_minutes, v_quiet)) <= p_at
      order by own.last_activity_at limit p_most)
      union all
      -- By namespace, so that looms of those that do not weave, or are not quiet yet, are not even looked at.
      (select heir.* from (
        select org, name, p_at - make_interval(mins => coalesce(quiet_minutes, v_quiet)) as quiet_since
        from loom.namespace where org = tenant.org and coalesce(night_weaving, v_default)
      ) as place
      cross join lateral (
        select * from loom.loom as held
        where held.org = place.org and held.namespace = place.name and held.night_weaving_pending
          and held.night_weaving is null and held.quiet_minutes is null and held.last_activity_at <= place.quiet_since
          and coalesce(held.night_weaving_not_before, '-infinity') <= p_at and held.lease_id is null
        order by held.last_activity_at limit p_most
      ) as heir
      order by heir.last_activity_at limit p_most)
    ) as due;
end
$$;
comment on function loom._weaving_due(integer, timestamptz) is
  'Looms of all orgs that are due by the clock: woven at night by their own setting or their namespace''s or the installation''s, with something pending, quiet for long enough, and past their wait. A query over what is stored: no event makes a loom due, so that none can be missed.';
