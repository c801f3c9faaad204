create or replace function loom._role_rank(p_role text) returns integer
language sql immutable parallel safe
as $$
  select case p_role when 'viewer' then 1 when 'writer' then 2 when 'admin' then 3 else 0 end
$$;
comment on function loom._role_rank(text) is 'viewer 1, writer 2, admin 3: each role may do what those below it may.';
