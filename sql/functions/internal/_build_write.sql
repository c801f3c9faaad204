create or replace function loom._build_write(
  p_leased loom.build, p_kind loom.work_kind, p_schema loom.profile_schema, p_value jsonb, p_sources jsonb, p_at timestamptz
) returns jsonb
language plpgsql volatile
as $$
declare
  v_build loom.build := loom._build_unlease(p_leased);
  v_row loom.memory;
  v_written loom.memory;
  v_reason text;
  v_outcome text := 'unchanged';
begin
  if p_leased.read_count = 0 and v_build.row_state is null then
    -- Not built: a row that is deleted and comes back must not read as made from these sources.
    return loom._build_end(v_build, p_leased, p_kind, p_schema, 'nothing', null, p_at)
      || '{"memory_id": null, "version": null, "version_text": null}';
  end if;
  v_row := loom._built_row(p_leased.org, p_leased.namespace, p_leased.user_id, p_kind.label);
  v_written := loom._built_draft(v_row, p_leased, p_kind, p_value, p_at);
  v_reason := coalesce(loom._row_refusal(v_row, p_at), loom._built_refusal(v_written));
  if v_reason is not null then
    return loom._build_end(loom._build_refuse(v_build, p_kind, v_reason, v_row.lock_until, p_at),
      p_leased, p_kind, p_schema, 'refused', v_reason, p_at);
  end if;
  if loom._row_state(v_row) is distinct from 'served' or v_row.content_sha256 is distinct from v_written.content_sha256
    or v_row.source_trace is distinct from v_written.source_trace then
    v_outcome := 'written';
    v_written := loom._memory_store(v_row, v_written, 'set', 'worker');
    perform loom._built_from(v_written, p_leased.read_ids);
  end if;
  v_build.row_state := 'served';
  v_build := loom._build_built(v_build, p_leased, p_sources, p_at);
  return loom._build_end(v_build, p_leased, p_kind, p_schema, v_outcome, null, p_at)
    || jsonb_build_object('memory_id', v_written.memory_id, 'version', v_written.version,
      'version_text', v_written.version::text);
end
$$;
comment on function loom._build_write(loom.build, loom.work_kind, loom.profile_schema, jsonb, jsonb, timestamptz) is
  'Writes what was built into the section of its kind, unless that may not be written over or says the same already, and ends the try. p_leased is the build as it was leased. LM402.';
