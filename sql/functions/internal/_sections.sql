create or replace function loom._sections(p_caller loom.caller, p_labels text[], p_own_agent boolean)
returns setof loom.memory
language plpgsql volatile rows 20
as $$
begin
  if p_caller.users is null then
    return query select section.* from loom.memory as section
    where org = p_caller.org and namespace = p_caller.namespace and memory_type = 'profile'
      and loom._section_in_reach(section, p_caller, p_labels, p_own_agent)
    order by array_position(p_labels, memory_key), memory_key, agent, user_id, session_id
    limit 1000;
    return;
  end if;
  -- User after user: a list of users is no condition of an index in a plan for all callers.
  return query select mine.* from unnest(p_caller.users) as reach (who)
  cross join lateral (
    select section.* from loom.memory as section
    where org = p_caller.org and namespace = p_caller.namespace and user_id = reach.who
      and memory_type = 'profile' and loom._section_in_reach(section, p_caller, p_labels, p_own_agent)
    offset 0
  ) as mine
  order by array_position(p_labels, mine.memory_key), mine.memory_key, mine.agent, mine.user_id, mine.session_id
  limit 1000;
end
$$;
comment on function loom._sections(loom.caller, text[], boolean) is
  'The current profile sections in reach, in the order they render: as named, else by label, agent, user and session in byte order. At most 1,000.';
