create or replace function loom._retire_left(p_loom loom.loom, p_at timestamptz) returns integer
language plpgsql stable
as $$
declare
  v_org text := p_loom.org;
  v_since timestamptz := p_at - interval '1 day';
  v_share numeric := loom._night_weaving_setting('max_retire_share', 0.2);
  v_live bigint;
  v_retired bigint;
begin
  select count(*) into v_live from loom.loom_thread where org = v_org and loom_id = p_loom.loom_id and deleted_at is null;
  -- But for those that are there again; a revert may leave some as they are.
  select coalesce(sum(weaving.retired - (
    select count(*) from loom.loom_weaving_change as change
    where change.org = v_org and change.weaving_id = weaving.weaving_id and change.action = 'retire' and change.reverted)), 0)
  into v_retired from loom.loom_weaving as weaving
  where org = v_org and loom_id = p_loom.loom_id and started_at > v_since and not dry_run;
  return greatest(floor((v_live + v_retired) * v_share) - v_retired, 0);
end
$$;
comment on function loom._retire_left(loom.loom, timestamptz) is
  'How many threads of a loom weavings may still retire: a share of those that there were, counted over a day, so that many small weavings do not take what one may not.';
