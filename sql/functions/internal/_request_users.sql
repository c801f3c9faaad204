create or replace function loom._request_users(p_request jsonb, p_caller loom.caller) returns text[]
language plpgsql immutable
as $$
declare
  v_default text := coalesce(p_caller.bound_user, '-');
begin
  if not p_request ? 'requests' then
    return case when p_caller.user_id is null then '{}' else array[p_caller.user_id] end;
  end if;
  return array(
    select distinct named.user_id collate "C"
    from jsonb_path_query(p_request, '$.requests[0 to 49]') as item
    cross join lateral (select coalesce(loom._string(item, 'user_id'), v_default) as user_id) as named
    -- The batch is not judged yet; an item with a longer id is going to be refused.
    where octet_length(named.user_id) <= 256
    order by 1);
end
$$;
comment on function loom._request_users(jsonb, loom.caller) is
  'The users a request writes under, in byte order: one, or those of a batch''s items.';
