create or replace function loom.weaving_apply(
  p_org text, p_lease_id uuid, p_user_id text, p_agent text, p_operations jsonb
) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_loom loom.loom := loom._weaving_enter(v_org, p_lease_id, p_user_id);
  v_caller loom.caller;
  v_weaving loom.loom_weaving;
  v_part loom.loom_weaving_part;
  v_change loom.loom_weaving_change;
  v_operation jsonb;
  v_place integer;
  v_left integer;
begin
  select * into v_weaving from loom.loom_weaving where org = v_org and loom_id = v_loom.loom_id and state = 'running';
  delete from loom.loom_weaving_part
  where org = v_org and weaving_id = v_weaving.weaving_id and user_id = p_user_id and agent = p_agent
  returning * into v_part;
  if v_part.weaving_id is null then
    return jsonb_build_object('outcome', 'lost');
  end if;
  v_caller.org := v_org;
  v_caller.namespace := v_loom.namespace;
  v_caller.actor := 'worker';
  v_caller.called_at := loom._now();
  v_left := loom._retire_left(v_loom, v_caller.called_at) - case when v_weaving.dry_run then v_weaving.retired else 0 end;
  select coalesce(max(place), 0) into v_place from loom.loom_weaving_change
  where org = v_org and weaving_id = v_weaving.weaving_id;
  for v_operation in select value from jsonb_array_elements(p_operations) limit 100 loop
    v_change := loom._weaving_judged(v_caller, v_loom, v_part, v_operation, v_left);
    if v_change.action is null then
      v_weaving.dropped := v_weaving.dropped + 1;
      continue;
    end if;
    if not v_weaving.dry_run then
      v_change := loom._weaving_write(v_caller, v_loom, v_weaving.weaving_id, v_change, loom._turns_named(v_part, v_operation));
    end if;
    v_place := v_place + 1;
    v_left := v_left - case v_change.action when 'retire' then 1 else 0 end;
    v_weaving := loom._weaving_noted(v_loom, v_weaving, v_change, v_place);
  end loop;
  perform loom._weaving_store(v_loom, v_weaving, v_part, v_caller.called_at);
  return jsonb_build_object('outcome', 'applied');
end
$$;
comment on function loom.weaving_apply(text, uuid, text, text, jsonb) is
'Carries out what the model answered for one part of a weaving, and with the shared part takes its turns for consolidated. An operation that is not to be done is left out and counted. In a dry run nothing is changed and all is shown.

Request: p_operations [{action (add, revise, retire), thread (its number), text, turns (numbers), reason}].
Returns: outcome (applied; lost: the lease is over, or the user was erased meanwhile, and nothing was written).
Errors: LM001.';
