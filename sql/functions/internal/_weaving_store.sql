create or replace function loom._weaving_store(
  p_loom loom.loom, p_weaving loom.loom_weaving, p_part loom.loom_weaving_part, p_at timestamptz
) returns void
language plpgsql volatile
as $$
declare
  v_org text := p_loom.org;
begin
  update loom.loom_weaving
  set added = p_weaving.added, revised = p_weaving.revised, retired = p_weaving.retired, dropped = p_weaving.dropped
  where org = v_org and weaving_id = p_weaving.weaving_id;
  if p_weaving.dry_run then
    return;
  end if;
  -- The shared part is the last one that reads a turn.
  if p_part.agent = '-' then
    update loom.loom_turn set woven_by = p_weaving.weaving_id
    where org = v_org and turn_id = any (p_part.turn_ids) and woven_by is null;
  end if;
  if p_weaving.added + p_weaving.revised > 0 then
    update loom.loom set last_woven_at = p_at, updated_at = p_at, updated_by = 'worker'
    where org = v_org and loom_id = p_loom.loom_id;
  end if;
end
$$;
comment on function loom._weaving_store(loom.loom, loom.loom_weaving, loom.loom_weaving_part, timestamptz) is
  'Keeps the counts of a weaving after one of its parts, and takes the turns of the shared part for consolidated.';
