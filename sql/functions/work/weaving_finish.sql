create or replace function loom.weaving_finish(
  p_org text, p_lease_id uuid, p_outcome text, p_error text, p_retry_seconds integer
) returns void
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_now timestamptz := loom._now();
  v_loom loom.loom;
  v_weaving loom.loom_weaving;
begin
  if not coalesce(p_outcome in ('done', 'failed', 'waiting', 'released'), false) or p_error !~ E'^[A-Z][A-Z0-9_]{0,63}$' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_outcome',
        'reason', 'must be done, failed, waiting or released, with an error that is a code')::text,
      hint = 'What a provider said is never stored: it may hold a user''s text.';
  end if;
  select * into v_loom from loom.loom where org = v_org and lease_id = p_lease_id for no key update;
  if not found then
    return;  -- it is another's by now
  end if;
  select * into v_weaving from loom.loom_weaving where org = v_org and loom_id = v_loom.loom_id and state = 'running';
  perform loom._weaving_ended(v_weaving, p_outcome, p_error, v_now);
  v_loom.lease_id := null;
  v_loom.leased_until := null;
  if not v_weaving.dry_run then
    v_loom := loom._weaving_stamped(v_loom, p_outcome, p_retry_seconds, v_now);
  end if;
  update loom.loom
  set lease_id = null, leased_until = null, attempts = v_loom.attempts, night_weaving_not_before = v_loom.night_weaving_not_before,
    last_night_weaving_at = v_loom.last_night_weaving_at, night_weaving_pending = v_loom.night_weaving_pending,
    updated_at = v_now, updated_by = 'worker'
  where org = v_org and loom_id = v_loom.loom_id;
  perform loom._work_counted('night_weaving', p_outcome, 1, v_now);
end
$$;
comment on function loom.weaving_finish(text, uuid, text, text, integer) is
'Ends a lease. done: stamps lastNightWeavingAt, and nothing is pending but what came after what was read. failed: the loom waits, longer each time. waiting: the provider could not serve, so no attempt is used up and the loom waits as long as the provider said. released: a worker that stops gives the loom back; what was asked for is queued again. What parts have written before stays, and can be reverted.

Request: p_outcome, p_error (a code in capitals, or null), p_retry_seconds (waiting: what the provider said).
Errors: LM001.';
