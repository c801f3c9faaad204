create or replace function loom._pack_profile(p_caller loom.caller, p_plan loom.pack_plan) returns loom.pack_offer
language plpgsql volatile
as $$
declare
  v_offer loom.pack_offer;
begin
  if p_caller.users is null then
    select array_agg(loom._row_rendered(section, p_caller.agent, p_plan.format, 'section')),
      array_agg(loom._section_told(section))
    into v_offer from loom._sections(p_caller, p_plan.labels, false) as section;
    return v_offer;
  end if;
  -- As loom._sections reads them, but rendered where they are read: whole rows cost more to hand on.
  select array_agg(body), array_agg(item) into v_offer
  from (
    select body, item from unnest(p_caller.users) as reach (who)
    cross join lateral (
      select loom._row_rendered(section, p_caller.agent, p_plan.format, 'section') as body,
        loom._section_told(section) as item, memory_key, agent, user_id, session_id
      from loom.memory as section
      where org = p_caller.org and namespace = p_caller.namespace and user_id = reach.who
        and memory_type = 'profile' and loom._section_in_reach(section, p_caller, p_plan.labels, false)
      offset 0
    ) as mine
    order by array_position(p_plan.labels, memory_key), memory_key, agent, user_id, session_id
    limit 1000
  ) as told;
  return v_offer;
end
$$;
comment on function loom._pack_profile(loom.caller, loom.pack_plan) is
  'The profile sections in reach, of every agent, in the order profile.render has them.';
