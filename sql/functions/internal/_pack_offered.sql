create or replace function loom._pack_offered(p_name text, p_caller loom.caller, p_plan loom.pack_plan)
returns loom.pack_offer
language plpgsql volatile
set search_path = loom, pg_temp
as $$
begin
  case p_name
    when 'working_memory' then return loom._pack_working_memory(p_caller, p_plan);
    when 'profile' then return loom._pack_profile(p_caller, p_plan);
    when 'user_profile' then return loom._pack_user_profile(p_caller, p_plan);
    when 'looms' then return loom._pack_looms(p_caller, p_plan);
  end case;
end
$$;
comment on function loom._pack_offered(text, loom.caller, loom.pack_plan) is
  'What might stand in a section of a pack that does not depend on the query, in its order.';
