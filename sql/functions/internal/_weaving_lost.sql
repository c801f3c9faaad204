create or replace function loom._weaving_lost(p_loom loom.loom, p_at timestamptz) returns loom.loom
language plpgsql volatile
as $$
declare
  v_org text := p_loom.org;
begin
  delete from loom.loom_weaving_part
  where org = v_org and weaving_id in (
    select weaving_id from loom.loom_weaving where org = v_org and loom_id = p_loom.loom_id and state = 'running');
  update loom.loom_weaving set state = 'failed', error = 'LEASE_LOST', ended_at = p_at
  where org = v_org and loom_id = p_loom.loom_id and state = 'running';
  update loom.loom set lease_id = null, leased_until = null where org = v_org and loom_id = p_loom.loom_id
  returning * into p_loom;
  return p_loom;
end
$$;
comment on function loom._weaving_lost(loom.loom, timestamptz) is
  'Ends the weaving of a worker that died. Its attempt was counted by its claim, so that the loom waits as after any failure.';
