create or replace function loom.structured_profile_complete(
  p_build loom.build, p_answer jsonb, p_sources jsonb, p_at timestamptz
) returns jsonb
language plpgsql volatile
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_kind loom.work_kind := loom._kind_of_work(p_build.kind);
  v_schema loom.profile_schema;
  v_row loom.memory;
  v_written loom.memory;
  v_reason text;
  v_outcome text := 'unchanged';
  v_build loom.build := loom._build_unlease(p_build);
begin
  select * into v_schema from loom.profile_schema where org = p_build.org and namespace = p_build.namespace;
  v_reason := loom._build_overtaken(p_build, v_schema);
  if v_reason is not null then
    return loom._build_end(v_build, p_build, v_kind, v_schema, 'requeued', v_reason, p_at);
  end if;
  if p_build.read_count = 0 and v_build.row_state is null then
    -- Not built: a row that is deleted and comes back must not read as made from these sources.
    return loom._build_end(v_build, p_build, v_kind, v_schema, 'nothing', null, p_at)
      || '{"memory_id": null, "version": null, "version_text": null}';
  end if;
  v_row := loom._built_row(p_build.org, p_build.namespace, p_build.user_id, v_kind.label);
  v_written := loom._built_draft(v_row, p_build, v_kind.label,
    -- Of no facts nothing can be told.
    loom._structured_profile_value(v_schema.json_schema,
      case when p_build.read_ids <> '{}' then p_answer end), p_at);
  v_reason := coalesce(loom._row_refusal(v_row, p_at), loom._built_refusal(v_written));
  if v_reason is not null then
    return loom._build_end(loom._build_refuse(v_build, v_kind, v_reason, v_row.lock_until, p_at),
      p_build, v_kind, v_schema, 'refused', v_reason, p_at);
  end if;
  if loom._row_state(v_row) is distinct from 'served' or v_row.content_sha256 is distinct from v_written.content_sha256
    or v_row.source_trace is distinct from v_written.source_trace then
    v_outcome := 'written';
    v_written := loom._memory_store(v_row, v_written, 'set', 'worker');
    perform loom._built_from(v_written, p_build.read_ids);
  end if;
  v_build.row_state := 'served';
  v_build := loom._build_built(v_build, p_build,
    loom._structured_profile_sources(v_schema.json_schema, p_sources, p_build.read_ids), p_at);
  if v_schema.attempts > 0 then
    update loom.profile_schema set attempts = 0, wait_until = null
    where org = p_build.org and namespace = p_build.namespace and schema_sha256 = p_build.lease_sha256;
  end if;
  return loom._build_end(v_build, p_build, v_kind, v_schema, v_outcome, null, p_at)
    || jsonb_build_object('memory_id', v_written.memory_id, 'version', v_written.version,
      'version_text', v_written.version::text);
end
$$;
comment on function loom.structured_profile_complete(loom.build, jsonb, jsonb, timestamptz) is
  'Writes a structured profile, as the end of a live lease behind its user''s locks, provided that nothing it was built from has changed; else the user is listed again, and a row that may not be written over is left as it is. Answers outcome, reason and the row.';
