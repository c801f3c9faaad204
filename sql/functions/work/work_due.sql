create or replace function loom.work_due(p_kind text) returns setof loom.pass_share
language plpgsql volatile security definer rows 20
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_kind loom.work_kind := loom._kind_of_work(p_kind);
  v_pass loom.pass := loom._pass_lock(p_kind);
  v_now timestamptz := loom._now();
begin
  if not v_kind.enabled then
    return;
  end if;
  -- A pass that has used its budget makes room for the next one at once.
  if v_pass.opened_at is not null and (v_pass.budget_left = 0 or v_pass.deadline_at <= v_now) then
    v_pass := loom._pass_close(v_pass, interval '0', v_now);
  end if;
  if v_pass.opened_at is null then
    if v_pass.not_before > v_now and not loom._anything_due(v_kind, v_pass.closed_at, v_now) then
      return;
    end if;
    v_pass := loom._pass_open(v_pass, v_kind, v_now);
  elsif v_pass.half_at <= v_now then
    return;  -- what is under way has the second half to finish
  end if;
  perform from loom._pass_places(p_kind, v_now);
  if not found then
    if not v_pass.went_round then
      v_pass := loom._pass_reach(v_pass, v_now);
    end if;
    if loom._pass_share_out(v_pass, v_now) = 0 and v_pass.went_round then
      v_pass := loom._pass_close(v_pass, loom._pass_wait(v_pass, v_kind), v_now);
    end if;
  end if;
  perform loom._pass_store(v_pass);
  if v_pass.opened_at is not null then
    return query select * from loom._pass_places(p_kind, v_now);
  end if;
end
$$;
comment on function loom.work_due(text) is
'Where there is work of a kind: opens a pass or goes on with the one under way, which all workers share, and answers the namespaces that may claim of its budget. A pass takes no user in the second half of its time; when it has used its budget the next one opens at once; after one that found nothing the next waits, unless something falls due before.

Returns: org, namespace, kind, share (in all), share_left, for each namespace with something to do; none: nothing is to be claimed now.
Errors: LM001 unknown kind.';
alter function loom.work_due(text) owner to loom_scheduler;
