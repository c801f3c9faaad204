create or replace function loom._weaving_judged(
  p_caller loom.caller, p_loom loom.loom, p_part loom.loom_weaving_part, p_operation jsonb, p_retire_left integer
) returns loom.loom_weaving_change
language plpgsql volatile
as $$
declare
  v_org text := p_loom.org;
  v_change loom.loom_weaving_change;
  v_thread loom.loom_thread;
  v_hit loom.blacklist;
  v_fit boolean;
begin
  v_change.action := loom._string(p_operation, 'action');
  v_change.text := loom._string(p_operation, 'text');
  v_change.reason := left(loom._string(p_operation, 'reason'), 500);
  v_change.user_id := p_part.user_id;
  v_change.agent := p_part.agent;
  if v_change.action in ('revise', 'retire') then
    v_thread := loom._weaving_thread(p_part, p_operation);
    v_change.thread_id := v_thread.thread_id;
    v_change.from_version := v_thread.version;
  end if;
  v_fit := case v_change.action
    when 'retire' then v_thread.thread_id is not null and p_retire_left > 0
    when 'revise' then v_thread.text <> v_change.text and char_length(v_change.text) between 1 and 16384
    when 'add' then char_length(v_change.text) between 1 and 16384 and not exists (
      select from loom.loom_thread
      where org = v_org and loom_id = p_loom.loom_id and deleted_at is null and user_id = p_part.user_id
        and agent = p_part.agent and text = v_change.text)
      and not exists (
        select from loom.loom_weaving_change
        where org = v_org and weaving_id = p_part.weaving_id and user_id = p_part.user_id and agent = p_part.agent
          and text = v_change.text)
  end;
  if v_fit is not true then
    return null;
  end if;
  if v_change.action = 'retire' then
    v_change.text := null;
  else
    v_hit := loom._blacklist_hit(p_caller, array[v_change.text]);
    if v_hit.blacklist_id is not null then
      return null;
    end if;
  end if;
  return v_change;
end
$$;
comment on function loom._weaving_judged(loom.caller, loom.loom, loom.loom_weaving_part, jsonb, integer) is
  'What an operation of the model comes to; null where it is not done: it is none, names no thread it was given, says what stands there already, says too much or what is blacklisted, or would retire more than may be in a day.';
