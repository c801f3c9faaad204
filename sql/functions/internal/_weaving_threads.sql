create or replace function loom._weaving_threads(
  p_loom loom.loom, p_user_id text, p_agent text, p_most integer, p_characters integer
) returns setof loom.loom_thread
language plpgsql stable rows 50
as $$
declare
  v_org text := p_loom.org;
begin
  return query
    select thread.* from (
      select newest.thread_id,
        sum(char_length(newest.text)) over (order by newest.created_at desc, newest.thread_id desc) as characters
      from (
        select * from loom.loom_thread
        where org = v_org and loom_id = p_loom.loom_id and deleted_at is null and user_id = p_user_id and agent = p_agent
        order by created_at desc, thread_id desc limit p_most
      ) as newest
    ) as told
    join loom.loom_thread as thread on thread.org = v_org and thread.thread_id = told.thread_id
    where told.characters <= p_characters;
end
$$;
comment on function loom._weaving_threads(loom.loom, text, text, integer, integer) is
  'Live threads of one user and agent (- for shared ones): the newest, at most so many and so many characters.';
