create or replace function loom._memory_page(p_caller loom.caller, p_filter loom.memory_filter, p_limit integer)
returns setof loom.memory
language plpgsql volatile rows 50
as $$
begin
  if p_caller.users is null then
    return query select * from loom.memory as candidate
    where org = p_caller.org and namespace = p_caller.namespace and version > 0
      and (created_at, memory_id) < (p_filter.after_at, p_filter.after_id)
      and loom._listed(candidate, p_caller, p_filter)
    order by created_at desc, memory_id desc
    limit p_limit;
    return;
  end if;
  -- A page of each user by itself: one index walk a user, however many rows they have.
  return query select page.* from unnest(p_caller.users) as reach (who)
  cross join lateral (
    select * from loom.memory as candidate
    where org = p_caller.org and user_id = reach.who and namespace = p_caller.namespace and version > 0
      and (created_at, memory_id) < (p_filter.after_at, p_filter.after_id)
      and loom._listed(candidate, p_caller, p_filter)
    order by created_at desc, memory_id desc
    limit p_limit
  ) as page
  order by page.created_at desc, page.memory_id desc
  limit p_limit;
end
$$;
comment on function loom._memory_page(loom.caller, loom.memory_filter, integer) is
  'The rows in reach that a list asks for, newest first, from its position on.';
