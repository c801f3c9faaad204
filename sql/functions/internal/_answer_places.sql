create or replace function loom._answer_places(
  p_op text, p_request jsonb, p_caller loom.caller, p_answer jsonb
) returns setof loom.answer_place
language plpgsql stable rows 5
as $$
declare
  v_namespace text := coalesce(p_caller.bound_namespace, p_request -> '_caller' ->> 'default_namespace', '');
begin
  if p_op = 'batch' then
    return query
    select named.user_id, named.namespace
    from jsonb_path_query(p_request, '$.requests[*]') as item
    cross join lateral (select coalesce(loom._string(item, 'user_id'), p_caller.bound_user, '-') as user_id,
      coalesce(loom._string(item, 'namespace'), v_namespace) as namespace) as named
    -- An item with a longer id has been refused.
    where octet_length(named.user_id) <= 256 and octet_length(named.namespace) <= 256
    -- What a batch read may be of other users than those it wrote under.
    union
    select '*', '*' from jsonb_path_query(p_request, '$.requests[*].op') as item (op)
    join loom.operation as read on read.op = item.op #>> '{}'
    where read.mode = 'read' and 'read_scope' = any (read.fields);
  elsif p_op = 'looms.thread_delete' then
    -- It names no user, and answers the thread of one.
    return query select p_answer #>> '{entity,userId}', coalesce(p_caller.namespace, '');
  elsif p_op <> 'erasure.request' and p_caller.user_id is not null then
    -- An operation by id answers whose row it was.
    return query
    select p_caller.user_id, coalesce(p_caller.namespace, '')
    union
    select coalesce(p_answer ->> 'user_id', p_caller.user_id), coalesce(p_caller.namespace, '')
    union
    -- A bind may tell threads of anyone.
    select '*', '*' where loom._string(p_request, 'readScope') = 'namespace';
  end if;
end
$$;
comment on function loom._answer_places(text, jsonb, loom.caller, jsonb) is
  'Whose data a stored answer speaks of, so that an erasure or a redaction finds it. None for an erasure: what is kept of it names no one.';
