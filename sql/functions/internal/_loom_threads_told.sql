create or replace function loom._loom_threads_told(p_caller loom.caller, p_loom_id uuid, p_agent text)
returns setof loom.loom_thread
language plpgsql stable rows 50
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
  v_most integer := 65536;
begin
  return query
    select (told.thread).* from (
      select newest as thread,
        sum(char_length(newest.text)) over (order by newest.created_at desc, newest.thread_id desc) as characters
      from (
        -- User by user, so that what others have woven costs nothing.
        (select held.* from unnest(p_caller.users) as named (user_id)
        cross join lateral (
          select * from loom.loom_thread
          where org = v_org and loom_id = p_loom_id and user_id = named.user_id and deleted_at is null and agent in ('-', p_agent)
          order by created_at desc, thread_id desc
          limit 1000
        ) as held)
        union all
        (select * from loom.loom_thread
        where p_caller.users is null and org = v_org and loom_id = p_loom_id and deleted_at is null and agent in ('-', p_agent)
        order by created_at desc, thread_id desc
        limit 1000)
        order by created_at desc, thread_id desc
        limit 1000
      ) as newest
    ) as told
    where told.characters <= v_most
    order by (told.thread).created_at, (told.thread).thread_id;
end
$$;
comment on function loom._loom_threads_told(loom.caller, uuid, text) is
  'What an agent is told of a loom: the shared threads and its own, of the users in the caller''s reach, oldest first. The newest thousand, and of these as many as have 65,536 characters.';
