create or replace function loom._loom_thread_counts(p_caller loom.caller, p_loom loom.loom) returns jsonb
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
begin
  return coalesce((
    select jsonb_agg(jsonb_build_object('kind', case agent when '-' then 'shared' else 'own' end, 'agent', nullif(agent, '-'),
      'live', live, 'deleted', deleted) order by agent <> '-', agent)
    from (
      select agent, count(*) filter (where deleted_at is null) as live, count(*) filter (where deleted_at is not null) as deleted
      from loom.loom_thread
      where org = v_org and loom_id = p_loom.loom_id and (p_caller.users is null or user_id = any (p_caller.users))
      group by agent
    ) as counted), '[]');
end
$$;
comment on function loom._loom_thread_counts(loom.caller, loom.loom) is
  'How many threads a loom has, by kind and agent, of the users in the caller''s reach.';
