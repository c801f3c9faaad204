create or replace function loom.structured_profile_complete(
  p_build loom.build, p_answer jsonb, p_sources jsonb, p_at timestamptz
) returns jsonb
language plpgsql volatile
as $$
declare
  v_kind loom.work_kind := loom._kind_of_work(p_build.kind);
  v_schema loom.profile_schema := loom._work_schema(v_kind, p_build.org, p_build.namespace);
  v_reason text := loom._build_overtaken(p_build, v_kind, v_schema);
  v_answer jsonb;
begin
  if v_reason is not null then
    return loom._build_end(loom._build_unlease(p_build), p_build, v_kind, v_schema, 'requeued', v_reason, p_at);
  end if;
  v_answer := loom._build_write(p_build, v_kind, v_schema,
    -- Of no facts nothing can be told.
    loom._structured_profile_value(v_schema.json_schema, case when p_build.read_ids <> '{}' then p_answer end),
    loom._structured_profile_sources(v_schema.json_schema, p_sources, p_build.read_ids), p_at);
  if v_schema.attempts > 0 and v_answer ->> 'outcome' in ('written', 'unchanged') then
    update loom.profile_schema set attempts = 0, wait_until = null
    where org = p_build.org and namespace = p_build.namespace and schema_sha256 = p_build.lease_sha256;
  end if;
  return v_answer;
end
$$;
comment on function loom.structured_profile_complete(loom.build, jsonb, jsonb, timestamptz) is
  'Writes a structured profile, as the end of a live lease behind its user''s locks, provided that nothing it was built from has changed; else the user is listed again, and a row that may not be written over is left as it is. Answers outcome, reason and the row.';
