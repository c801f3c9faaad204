create or replace function loom._weaving_changes(p_caller loom.caller, p_weaving_id uuid) returns jsonb
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
begin
  return coalesce((
    select jsonb_agg(jsonb_build_object('action', action, 'threadId', thread_id,
      'kind', case agent when '-' then 'shared' else 'own' end, 'agent', nullif(agent, '-'), 'userId', user_id,
      'fromVersion', from_version, 'toVersion', to_version, 'text', text, 'reason', reason, 'reverted', reverted) order by place)
    from loom.loom_weaving_change
    where org = v_org and weaving_id = p_weaving_id and (p_caller.users is null or user_id = any (p_caller.users))), '[]');
end
$$;
comment on function loom._weaving_changes(loom.caller, uuid) is
  'What a weaving changed, or as a dry run would change, of the users in the caller''s reach.';
