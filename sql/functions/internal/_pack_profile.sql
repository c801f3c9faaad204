create or replace function loom._pack_profile(p_caller loom.caller, p_plan loom.pack_plan)
returns loom.pack_item[]
language plpgsql volatile
set search_path = loom, pg_temp
as $$
declare
  v_section loom.memory;
  v_items loom.pack_item[] := '{}';
begin
  for v_section in select * from loom._sections(p_caller, p_plan.labels, false) loop
    v_items := v_items || row(loom._row_rendered(v_section, p_caller.agent, p_plan.format, 'section'),
      loom._section_place(v_section) || jsonb_build_object('content_sha256', v_section.content_sha256)
    )::loom.pack_item;
  end loop;
  return v_items;
end
$$;
comment on function loom._pack_profile(loom.caller, loom.pack_plan) is
  'The profile sections in reach, of every agent, in the order profile.render has them.';
