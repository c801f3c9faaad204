create or replace function loom.weaving_claim(p_org text, p_loom_id uuid) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_now timestamptz := loom._now();
  v_lease interval := make_interval(secs => loom._night_weaving_setting('lease_seconds', 600)::double precision);
  v_loom loom.loom;
  v_weaving loom.loom_weaving;
  v_rule loom.loom_rule;
begin
  select * into v_loom from loom.loom where org = v_org and loom_id = p_loom_id for no key update skip locked;
  if not found or v_loom.leased_until > v_now then
    return jsonb_build_object('found', false);
  end if;
  if v_loom.lease_id is not null then
    v_loom := loom._weaving_lost(v_loom, v_now);
  end if;
  if loom._model_calls(v_org) then
    v_weaving := loom._weaving_begin(v_loom, v_now);
  end if;
  if v_weaving.weaving_id is null then
    return jsonb_build_object('found', false);
  end if;
  v_rule := loom._loom_rule_of(v_loom);
  v_loom.lease_id := gen_random_uuid();
  v_loom.leased_until := v_now + v_lease;
  if not v_weaving.dry_run then
    -- Counted here, in the claim's own commit: should the worker die, nobody is to try sooner than after a failure.
    v_loom.attempts := v_loom.attempts + 1;
    v_loom.night_weaving_not_before := greatest(v_loom.leased_until, v_now + loom._weaving_wait(v_loom.attempts));
  end if;
  update loom.loom
  set lease_id = v_loom.lease_id, leased_until = v_loom.leased_until, attempts = v_loom.attempts,
    night_weaving_not_before = v_loom.night_weaving_not_before
  where org = v_org and loom_id = p_loom_id;
  perform loom._work_counted('night_weaving', 'claimed', 1, v_now);
  return jsonb_build_object('found', true, 'lease_id', v_loom.lease_id, 'weaving_id', v_weaving.weaving_id,
    'credentials', v_loom.activity_credentials, 'model', v_rule.model, 'dry_run', v_weaving.dry_run,
    'seconds_left', extract(epoch from v_lease), 'parts', loom._weaving_parts(v_loom, v_weaving.cause = 'request'));
end
$$;
comment on function loom.weaving_claim(text, uuid) is
'Leases a loom to a worker that is to weave it, if somebody asked for that or it is due, and nobody else is at it. The attempt is counted here: a worker that dies has used one.

Returns: found, and then lease_id, weaving_id, credentials (a name, or null), model (or null for the worker''s own), dry_run, seconds_left (of the lease), parts [{user_id, agent}], to be woven in this order.
Errors: LM001.';
