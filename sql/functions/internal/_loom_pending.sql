create or replace function loom._loom_pending(p_caller loom.caller, p_loom loom.loom) returns jsonb
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_caller.org;
  v_answer jsonb;
begin
  select jsonb_build_object('turns', count(*), 'oldestAt', loom._ts7(min(at)), 'newestAt', loom._ts7(max(at)))
  into v_answer from loom.loom_turn
  where org = v_org and loom_id = p_loom.loom_id and woven_by is null
    and (p_caller.users is null or user_id = any (p_caller.users));
  return v_answer || jsonb_build_object('newest', coalesce((
    select jsonb_agg(loom._loom_turn_json(turn) order by turn.at desc, turn.turn_id desc)
    from (
      select * from loom.loom_turn
      where org = v_org and loom_id = p_loom.loom_id and woven_by is null
        and (p_caller.users is null or user_id = any (p_caller.users))
      order by at desc, turn_id desc
      limit 10
    ) as turn), '[]'));
end
$$;
comment on function loom._loom_pending(loom.caller, loom.loom) is
  'The turns that no night weaving has consolidated yet, of the users in the caller''s reach: how many, from when to when, and the newest ten.';
