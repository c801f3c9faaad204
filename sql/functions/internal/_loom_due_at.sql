create or replace function loom._loom_due_at(p_loom loom.loom, p_rule loom.loom_rule) returns timestamptz
language plpgsql immutable
as $$
begin
  if not p_rule.night_weaving or not p_loom.night_weaving_pending then
    return null;
  end if;
  return greatest(p_loom.last_activity_at + p_rule.quiet, p_loom.night_weaving_not_before);
end
$$;
comment on function loom._loom_due_at(loom.loom, loom.loom_rule) is
  'When a loom''s night weaving is due, if nobody takes a turn before; null when it does not weave at night or nothing is pending.';
