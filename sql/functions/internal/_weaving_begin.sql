create or replace function loom._weaving_begin(p_loom loom.loom, p_at timestamptz) returns loom.loom_weaving
language plpgsql volatile
as $$
declare
  v_org text := p_loom.org;
  v_weaving loom.loom_weaving;
begin
  update loom.loom_weaving
  set state = 'running', started_at = p_at, process_id = p_loom.last_activity_process_id
  where org = v_org and weaving_id = (
    select weaving_id from loom.loom_weaving
    where org = v_org and loom_id = p_loom.loom_id and state = 'queued' order by requested_at, weaving_id limit 1)
  returning * into v_weaving;
  if v_weaving.weaving_id is null and loom._loom_due_at(p_loom, loom._loom_rule_of(p_loom)) <= p_at then
    insert into loom.loom_weaving (org, namespace, loom_id, cause, dry_run, state, requested_at, requested_by, started_at, process_id)
    values (v_org, p_loom.namespace, p_loom.loom_id, 'night', false, 'running', p_at, 'worker', p_at, p_loom.last_activity_process_id)
    returning * into v_weaving;
  end if;
  return v_weaving;
end
$$;
comment on function loom._weaving_begin(loom.loom, timestamptz) is
  'The weaving that a worker now does of a loom it holds: the one asked for longest ago, or that of the night when it is due; null when there is nothing to do.';
