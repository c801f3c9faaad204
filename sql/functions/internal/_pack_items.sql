create or replace function loom._pack_items(p_name text, p_caller loom.caller, p_plan loom.pack_plan)
returns loom.pack_item[]
language plpgsql volatile
set search_path = loom, pg_temp
as $$
begin
  case p_name
    when 'working_memory' then return loom._pack_working_memory(p_caller, p_plan);
    when 'profile' then return loom._pack_profile(p_caller, p_plan);
    when 'user_profile' then return loom._pack_user_profile(p_caller, p_plan);
    when 'looms' then
      return array(select told from loom._looms_rendered(p_caller, p_plan.loom_ids, p_plan.format) as told);
    when 'memories', 'decisions' then return loom._pack_found(p_caller, p_plan, p_name);
  end case;
end
$$;
comment on function loom._pack_items(text, loom.caller, loom.pack_plan) is 'What might stand in a section of a pack, in its order.';
