create or replace function loom._profile_explained(
  p_standing loom.profile_standing, p_stop text, p_at timestamptz
) returns jsonb
language plpgsql immutable
as $$
declare
  v_schema loom.profile_schema := p_standing.schema;
  v_build loom.build := p_standing.build;
  v_state loom.user_state := p_standing.state;
  v_unseen boolean := v_build.schema_rev < v_schema.schema_rev and v_schema.schema_sha256 is not null
    and loom._build_behind(v_build, v_state, v_schema.schema_sha256);
  -- Behind, with nobody at it, and a model is to be called.
  v_waits boolean := (v_build.listed_at is not null or v_unseen) and v_build.lease_id is null and v_build.refused is null
    and v_state.source_count > 0;
begin
  -- Nobody may have looked at the user since the schema changed: it is due since then.
  return jsonb_build_object('source_count', coalesce(v_state.source_count, 0),
    'sources_match', case when v_build.built_at is not null then
      (v_build.built_digest, v_build.built_count) = (v_state.source_digest, v_state.source_count)
        and (v_state.next_change_at <= p_at) is not true end,
    'schema_match', case when v_build.built_at is not null then
      v_build.built_sha256 is not distinct from v_schema.schema_sha256 end,
    'due_at', loom._ts(case when v_unseen and v_build.lease_id is null
      then least(v_build.due_at, v_schema.updated_at) else v_build.due_at end),
    'listed_at', loom._ts(case when v_unseen then coalesce(v_build.listed_at, v_schema.updated_at) else v_build.listed_at end),
    'attempts', coalesce(v_build.attempts, 0), 'last_error', coalesce(case when v_waits then p_stop end, v_build.last_error),
    'next_attempt_at', loom._ts(v_build.next_attempt_at), 'refused', v_build.refused,
    'sources', case when v_build.row_state = 'served' then coalesce(v_build.built_sources, '{}') else '{}' end);
end
$$;
comment on function loom._profile_explained(loom.profile_standing, text, timestamptz) is
  'Why a structured profile stands as it does, in codes, numbers, times and ids. p_stop is why no model is to be called just now: while the user waits for one, that is its last error.';
