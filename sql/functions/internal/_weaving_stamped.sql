create or replace function loom._weaving_stamped(p_loom loom.loom, p_outcome text, p_retry_seconds integer, p_at timestamptz)
returns loom.loom
language plpgsql stable
as $$
declare
  v_org text := p_loom.org;
begin
  case p_outcome
    when 'done' then
      p_loom.attempts := 0;
      p_loom.night_weaving_not_before := null;
      p_loom.last_night_weaving_at := p_at;
      -- A turn that came while the model thought, or was over what one weaving reads, is still there.
      p_loom.night_weaving_pending := exists (
        select from loom.loom_turn where org = v_org and loom_id = p_loom.loom_id and woven_by is null);
    when 'failed' then
      p_loom.night_weaving_not_before := p_at + loom._weaving_wait(p_loom.attempts);
    when 'waiting' then
      p_loom.attempts := greatest(p_loom.attempts - 1, 0);
      p_loom.night_weaving_not_before := p_at + coalesce(make_interval(secs => p_retry_seconds), loom._weaving_wait(1));
    when 'released' then
      p_loom.attempts := greatest(p_loom.attempts - 1, 0);
      p_loom.night_weaving_not_before := null;
  end case;
  return p_loom;
end
$$;
comment on function loom._weaving_stamped(loom.loom, text, integer, timestamptz) is
  'A loom after a weaving that ended so: when it may be woven next, and whether anything is pending.';
