create or replace function loom._build_look(
  p_build loom.build, p_state loom.user_state, p_kind loom.work_kind, p_schema loom.profile_schema, p_at timestamptz
) returns loom.build
language plpgsql immutable
as $$
declare
  v_cooled_at timestamptz;
  v_due_at timestamptz;
begin
  if p_build.lease_id is not null then
    return p_build;  -- who ends the lease looks again
  end if;
  if p_schema.schema_sha256 is null or not loom._build_behind(p_build, p_state, p_schema.schema_sha256) then
    p_build.listed_at := null;
    p_build.due_at := case when p_schema.schema_sha256 is not null then p_state.next_change_at end;
    -- To look what time has done takes no model.
    p_build.modelless := p_build.due_at is not null;
    return p_build;
  end if;
  p_build.listed_at := coalesce(p_build.listed_at, p_at);
  p_build.modelless := p_state.source_count = 0;
  if p_build.refused is not null then
    p_build.due_at := least(p_build.refused_until, p_state.next_change_at);
    return p_build;
  end if;
  -- A change of the schema and a deletion do not wait until the last try has cooled down (a deletion: unless
  -- that try had not waited either), nor does what needs no model.
  if p_build.tried_sha256 = p_schema.schema_sha256 and not p_build.modelless
    and p_state.source_count >= coalesce(p_build.tried_count, 0) then
    v_cooled_at := p_build.tried_at + p_kind.cooldown;
    if p_state.source_count < p_build.built_count then
      v_cooled_at := least(v_cooled_at, p_build.tried_at + p_kind.scan_max_age);
    end if;
    -- A fact whose time ends before that will be a deletion.
    v_cooled_at := least(v_cooled_at, p_state.next_change_at);
  end if;
  v_due_at := greatest(p_build.listed_at, v_cooled_at, p_build.next_attempt_at);
  -- Nothing falls due in the past: a wait for work is cut short by what falls due while it lasts.
  if p_build.due_at is null or p_build.due_at > p_at then
    v_due_at := greatest(v_due_at, p_at);
  end if;
  p_build.due_at := v_due_at;
  return p_build;
end
$$;
comment on function loom._build_look(loom.build, loom.user_state, loom.work_kind, loom.profile_schema, timestamptz) is
  'When a build is to be looked at next, derived from all that is known of it: at once, after its cooldown, its backoff or its refusal, when time changes its sources, or (null) not before something else does.';
