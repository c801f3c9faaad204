create or replace function loom._weaving_parts(p_loom loom.loom, p_asked boolean) returns jsonb
language plpgsql stable
as $$
declare
  v_org text := p_loom.org;
begin
  return coalesce((
    select jsonb_agg(jsonb_build_object('user_id', user_id, 'agent', agent) order by user_id, agent = '-', agent)
    from (
      select *, row_number() over (order by user_id, agent <> '-', agent) as place,
        count(*) over (order by user_id) as with_user, count(*) over (partition by user_id) as of_user
      from (
        select user_id::text collate "C" as user_id, '-' as agent from loom.loom_turn
        where org = v_org and loom_id = p_loom.loom_id and woven_by is null
        union
        select thread.user_id::text, thread.agent::text from loom.loom_thread as thread
        where thread.org = v_org and thread.loom_id = p_loom.loom_id and thread.deleted_at is null and (p_asked
          or (thread.agent <> '-' and exists (
            select from loom.loom_turn as turn
            where turn.org = v_org and turn.loom_id = p_loom.loom_id and turn.woven_by is null
              and turn.user_id = thread.user_id and turn.agent = thread.agent)))
      ) as wanted
    ) as part
    -- Users as wholes, since the shared part takes the turns for consolidated. One with more than a hundred parts
    -- by itself has that part among them: else its turns stayed, and it were woven for ever.
    where with_user <= 100 or (with_user = of_user and place <= 100)), '[]');
end
$$;
comment on function loom._weaving_parts(loom.loom, boolean) is
  'What a weaving is done by, one call of the model each: of each user with pending turns the shared threads, last, and before them the own threads of each agent that took such turns; all there are where somebody asked. Users that go over a hundred stay pending for the next.';
