create or replace function loom._claimable_since(p_schema loom.profile_schema, p_kind text, p_at timestamptz)
returns timestamptz
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := p_schema.org;
  v_namespace text := p_schema.namespace;
  v_rev bigint := p_schema.schema_rev;
  v_sha256 text := p_schema.schema_sha256;
  v_model_calls boolean := loom._model_calls(v_org);
  v_since timestamptz;
begin
  if p_schema.json_schema is null or p_schema.wait_until > p_at then
    return null;
  end if;
  v_since := loom._due_longest(v_org, v_namespace, p_kind, v_model_calls, p_at);
  -- Some that nobody has looked at since the schema changed: most may need no more than a stamp.
  if v_since is null and v_model_calls then
    perform from (
      select build from loom.build
      where org = v_org and namespace = v_namespace and kind = p_kind and schema_rev < v_rev and lease_id is null
      order by schema_rev limit 20
    ) as unseen
    -- One by one: a join would read the states of the whole namespace.
    cross join lateral (
      select state from loom.user_state as state
      where org = v_org and namespace = v_namespace and user_id = (unseen.build).user_id limit 1
    ) as theirs
    where loom._build_behind(unseen.build, loom._state_of_kind(theirs.state, p_kind), v_sha256);
    v_since := case when found then p_schema.updated_at end;
  end if;
  -- Not while it was held, which may have ended a moment ago.
  return case when v_since is not null then greatest(v_since, p_schema.updated_at, p_schema.wait_until,
    (select updated_at from loom.org_setting where org = v_org),
    (select date_trunc('day', p_at, 'UTC') from loom.setting where name = 'model_daily_token_cap')) end;
end
$$;
comment on function loom._claimable_since(loom.profile_schema, text, timestamptz) is
  'Since when a worker could have claimed what has been due longest in a namespace; null: there is nothing to claim. A few look-ups by index, however many users it has.';
