create or replace function loom._loom_in_reach(p_caller loom.caller, p_loom_id uuid) returns loom.loom
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
  v_loom loom.loom;
begin
  select * into v_loom from loom.loom where org = v_org and loom_id = p_loom_id;
  if v_loom.loom_id is null or v_loom.namespace <> p_caller.namespace then
    raise exception using errcode = 'LM103', message = 'There is no such loom.',
      hint = 'It may have been deleted, or belong to another namespace than the caller''s.';
  end if;
  return v_loom;
end
$$;
comment on function loom._loom_in_reach(loom.caller, uuid) is
  'The loom of an id, in the caller''s org and, where the caller is bound to one or names one, its namespace. LM103.';
