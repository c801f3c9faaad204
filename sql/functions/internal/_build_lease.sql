create or replace function loom._build_lease(
  p_schema loom.profile_schema, p_kind loom.work_kind, p_user_id text, p_at timestamptz
) returns loom.work_lease
language plpgsql volatile
as $$
declare
  v_build loom.build;
  v_lease_id uuid := gen_random_uuid();
begin
  select * into v_build from loom.build
  where org = p_schema.org and namespace = p_schema.namespace and kind = p_kind.kind and user_id = p_user_id;
  select epoch into v_build.lease_epoch from loom.user_state
  where org = p_schema.org and namespace = p_schema.namespace and user_id = p_user_id;
  v_build.lease_id := v_lease_id;
  v_build.leased_until := p_at + p_kind.lease;
  v_build.lease_sha256 := p_schema.schema_sha256;
  v_build.attempts := v_build.attempts + 1;
  v_build.next_attempt_at := p_at + loom._backoff(p_kind, v_build.attempts);
  -- Should its worker die, nobody is to try sooner than after a failure.
  v_build.due_at := greatest(v_build.leased_until, v_build.next_attempt_at);
  perform loom._build_store(v_build);
  return row(v_build.org, v_build.namespace, v_build.kind, p_user_id, v_lease_id, v_build.leased_until)::loom.work_lease;
end
$$;
comment on function loom._build_lease(loom.profile_schema, loom.work_kind, text, timestamptz) is
  'Leases a locked user to whoever claims it, and counts the attempt.';
