create or replace function loom._batch_locks(p_items jsonb[], p_caller loom.caller) returns void
language plpgsql volatile
as $$
declare
  v_user text := coalesce(p_caller.bound_user, '-');
  v_session text := coalesce(p_caller.bound_session, '-');
begin
  -- Items are not judged yet: what an invalid one locks does no harm.
  perform pg_advisory_xact_lock_shared(loom._user_lock_key(p_caller.org, user_id))
  from (
    select distinct coalesce(loom._string(item, 'user_id'), v_user) collate "C" as user_id
    from unnest(p_items) as item
    join loom.operation on op = item ->> 'op' and mode = 'write'
    order by user_id
  ) as locked;
  -- Rows that do not exist yet cannot be locked, so their names are, in numeric order: each block, the
  -- state row before a user's memory, a namespace that is to be made or changed, and for what has
  -- none of them, the operation.
  perform pg_advisory_xact_lock(key)
  from (
    select distinct hashtextextended(name::text, hashtextextended(p_caller.org, 1)) as key
    from unnest(p_items) as item
    join loom.operation on op = item ->> 'op' and mode = 'write'
    cross join lateral (select coalesce(loom._string(item, 'namespace'), p_caller.bound_namespace,
      item -> '_caller' ->> 'default_namespace') as namespace,
      coalesce(loom._string(item, 'agent'), '-') as agent,
      coalesce(loom._string(item, 'user_id'), v_user) as user_id) as named
    cross join lateral (values
      (case
        when not 'namespace' = any (identity) then jsonb_build_array(op, null)
        when not takes_user or not exists (
          select from loom.namespace as made where made.org = p_caller.org and made.name = namespace
        ) then jsonb_build_array(namespace)
      end),
      (case
        when 'block_key' = any (fields) then
          jsonb_build_array(namespace, agent, user_id, coalesce(loom._string(item, 'session_id'), v_session),
            coalesce(loom._string(item, 'run_id'), '-'), coalesce(loom._string(item, 'block_key'), 'scratchpad'))
        -- A user's memory is written behind one state row, that of user - behind an agent's.
        when takes_user then
          jsonb_build_array(namespace, user_id, case user_id when '-' then agent end)
      end)
    ) as place (name)
    where name is not null
    order by key
  ) as locked;
end
$$;
comment on function loom._batch_locks(jsonb[], loom.caller) is
  'Takes the locks of all writes of a batch before the first runs: users in byte order, then blocks, state rows and what else they write by name, in numeric order.';
