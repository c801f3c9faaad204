create or replace function loom._pack_profile(p_caller loom.caller, p_plan loom.pack_plan) returns loom.pack_offer
language plpgsql volatile
as $$
declare
  v_offer loom.pack_offer;
begin
  select array_agg(loom._row_rendered(section, p_caller.agent, p_plan.format, 'section')),
    array_agg(jsonb_build_object('label', memory_key, 'agent', agent, 'user_id', user_id, 'session_id', session_id,
      'content_sha256', content_sha256))
  into v_offer
  from loom._sections(p_caller, p_plan.labels, false) as section;
  return v_offer;
end
$$;
comment on function loom._pack_profile(loom.caller, loom.pack_plan) is
  'The profile sections in reach, of every agent, in the order profile.render has them.';
