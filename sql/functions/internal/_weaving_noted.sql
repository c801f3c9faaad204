create or replace function loom._weaving_noted(
  p_loom loom.loom, p_weaving loom.loom_weaving, p_change loom.loom_weaving_change, p_place integer
) returns loom.loom_weaving
language plpgsql volatile
as $$
begin
  insert into loom.loom_weaving_change (org, namespace, weaving_id, place, user_id, action, thread_id, agent, from_version,
    to_version, text, reason)
  values (p_loom.org, p_loom.namespace, p_weaving.weaving_id, p_place, p_change.user_id, p_change.action, p_change.thread_id,
    p_change.agent, p_change.from_version, p_change.to_version, p_change.text, p_change.reason);
  case p_change.action
    when 'add' then p_weaving.added := p_weaving.added + 1;
    when 'revise' then p_weaving.revised := p_weaving.revised + 1;
    when 'retire' then p_weaving.retired := p_weaving.retired + 1;
  end case;
  return p_weaving;
end
$$;
comment on function loom._weaving_noted(loom.loom, loom.loom_weaving, loom.loom_weaving_change, integer) is
  'Notes one change of a weaving, and counts it.';
