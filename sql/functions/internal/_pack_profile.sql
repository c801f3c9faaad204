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
  else
    select array_agg(loom._row_rendered(section, p_caller.agent, p_plan.format, 'section')),
      array_agg(loom._section_told(section))
    into v_offer from loom._sections_of_user(p_caller, p_plan.labels, false) as section;
  end if;
  return v_offer;
end
$$;
comment on function loom._pack_profile(loom.caller, loom.pack_plan) is
  'The profile sections in reach, of every agent, in the order profile.render has them.';
