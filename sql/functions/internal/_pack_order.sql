create or replace function loom._pack_order(p_request jsonb, p_with_query boolean) returns text[]
language plpgsql immutable parallel safe
as $$
declare
  v_order text[] := loom._pack_names(p_request, 'block_order');
  v_only text[] := loom._pack_names(p_request, 'only_sections');
begin
  return array(
    select name from unnest(loom._pack_sections()) with ordinality as section (name, place)
    where (v_only is null or name = any (v_only))
      and (p_with_query or not loom._pack_depends_on_query(name))
    order by loom._pack_depends_on_query(name), array_position(v_order, name), place);
end
$$;
comment on function loom._pack_order(jsonb, boolean) is
  'The sections of a pack in their order: those named in block_order first, but none that depends on the query before one that does not. LM001.';
