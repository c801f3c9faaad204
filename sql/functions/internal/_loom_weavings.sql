create or replace function loom._loom_weavings(p_caller loom.caller, p_loom loom.loom, p_most integer) returns jsonb
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
begin
  return coalesce((
    select jsonb_agg(loom._weaving_json(weaving)
      || jsonb_build_object('changes', loom._weaving_changes(p_caller, weaving.weaving_id))
      order by weaving.requested_at desc, weaving.weaving_id desc)
    from (
      select * from loom.loom_weaving where org = v_org and loom_id = p_loom.loom_id
      order by requested_at desc, weaving_id desc
      limit p_most
    ) as weaving), '[]');
end
$$;
comment on function loom._loom_weavings(loom.caller, loom.loom, integer) is
  'The last weavings of a loom, each with what it changed of the users in the caller''s reach.';
