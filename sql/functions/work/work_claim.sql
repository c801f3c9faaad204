create or replace function loom.work_claim(p_org text, p_namespace text, p_kind text, p_limit integer)
returns setof loom.work_lease
language plpgsql volatile security definer rows 20
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_kind loom.work_kind := loom._kind_of_work(p_kind);
  v_now timestamptz := loom._now();
  v_model_calls boolean := loom._model_calls(v_org);
  v_schema loom.profile_schema := loom._work_schema(v_kind, v_org, p_namespace);
  v_most integer;
  v_user text;
  v_ready boolean;
  v_all_held boolean;
  v_users text[] := '{}';
begin
  select least(p_limit, share_left, budget_left) into v_most
  from loom.pass join loom.pass_share using (kind)
  where pass.kind = p_kind and pass_share.org = v_org and pass_share.namespace = p_namespace
    and half_at > v_now;
  if not v_kind.enabled or v_schema.json_schema is null or v_schema.wait_until > v_now or v_most is null or v_most < 1 then
    return;
  end if;
  for v_user in select loom._build_due(v_org, p_namespace, p_kind, v_schema.schema_rev, v_model_calls, v_now)
  loop
    continue when v_user = any (v_users);
    v_ready := loom._build_ready(v_schema, v_kind, v_user, v_model_calls, v_now);
    v_all_held := v_all_held is not false and v_ready is null;
    if v_ready then
      v_users := v_users || v_user;
      exit when cardinality(v_users) >= v_most;
    end if;
    -- Settling what has expired by the thousand takes its time; writers of all users seen wait for it.
    exit when loom._now() > v_now + interval '1 second';
  end loop;
  if v_all_held then
    perform loom._pass_hold(v_org, p_namespace, p_kind);
  end if;
  -- The pass last and briefly, so that claims of other namespaces wait for nothing but its numbers.
  v_most := loom._pass_book(v_org, p_namespace, p_kind, cardinality(v_users), v_now);
  return query
    select leased.* from unnest(v_users[:v_most]) as claimed (user_id)
    cross join lateral loom._build_lease(v_schema, v_kind, claimed.user_id, v_now) as leased;
  if v_most > 0 then
    perform loom._work_counted(p_kind, 'claimed', v_most, v_now);
  end if;
end
$$;
comment on function loom.work_claim(text, text, text, integer) is
'Leases users of a namespace whose build is due, at most so many and no more than the pass and the namespace''s share have left, skipping those that someone is writing just now. Each attempt is counted here, in the claim''s own commit: a worker that dies has used one, and its user waits like after any failure. Users that need no build (a schema that came back, a row that refuses) are done with in passing and cost nothing of the budget.

Returns: org, namespace, kind, user_id, lease_id, leased_until.
Errors: LM001.';
