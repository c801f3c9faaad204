create or replace function loom._pack_looms(p_caller loom.caller, p_plan loom.pack_plan) returns loom.pack_offer
language plpgsql volatile
as $$
declare
  v_offer loom.pack_offer;
begin
  select array_agg(body), array_agg(item) into v_offer
  from loom._looms_rendered(p_caller, p_plan.loom_ids, p_plan.format);
  return v_offer;
end
$$;
comment on function loom._pack_looms(loom.caller, loom.pack_plan) is
  'The threads of the looms named, as the caller''s agent is told them.';
