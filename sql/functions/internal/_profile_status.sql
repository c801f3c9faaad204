create or replace function loom._profile_status(p_standing loom.profile_standing, p_at timestamptz) returns text
language plpgsql immutable
as $$
declare
  v_schema loom.profile_schema := p_standing.schema;
  v_build loom.build := p_standing.build;
  v_state loom.user_state := p_standing.state;
begin
  if v_schema.json_schema is null or v_schema.wait_until > p_at then
    return 'no_schema';
  end if;
  -- Nothing was ever told of the user, or nothing is left and nothing was built: no build will come,
  -- unless something has ended since that held back a fact.
  if v_build.org is null or (v_state.source_count = 0 and v_build.row_state is null) then
    return case when v_state.next_change_at <= p_at then 'pending' else 'ready' end;
  end if;
  if v_build.row_state is distinct from 'served' then
    return 'pending';
  end if;
  -- Past that moment the digest is not that of the facts of now, until somebody settles them.
  if loom._build_behind(v_build, v_state, v_schema.schema_sha256) or v_state.next_change_at <= p_at then
    return 'stale';
  end if;
  return 'ready';
end
$$;
comment on function loom._profile_status(loom.profile_standing, timestamptz) is
  'ready, stale, pending or no_schema: digests are compared, whatever the number of facts.';
