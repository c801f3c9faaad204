create or replace function loom._build_overtaken(
  p_build loom.build, p_kind loom.work_kind, p_schema loom.profile_schema
) returns text
language plpgsql volatile
as $$
declare
  v_epoch bigint;
  v_part bit(128);
  v_left bigint;
begin
  select epoch into v_epoch from loom.user_state
  where org = p_build.org and namespace = p_build.namespace and user_id = p_build.user_id;
  select coalesce(bit_xor(source_part), 0::bit(128)), count(source_part) into v_part, v_left from loom.memory
  where org = p_build.org and memory_id = any (p_build.read_ids)
    -- A part does not tell the type.
    and memory_type = any (p_kind.memory_types);
  return case
    when p_build.read_ids is null then 'NOT_READ'
    when v_epoch is distinct from p_build.lease_epoch then 'ERASED'
    when p_schema.schema_sha256 is distinct from p_build.lease_sha256 then
      case when p_kind.enabled then 'SCHEMA_CHANGED' else 'SWITCHED_OFF' end
    when v_part <> p_build.read_part or v_left <> cardinality(p_build.read_ids) then 'SOURCES_CHANGED'
    -- Not at the cap: the call may have brought the org there, and is paid for.
    when p_build.read_ids <> '{}' and loom._model_stop(p_build.org, loom._now()) = 'MODEL_CALLS_OFF' then 'MODEL_CALLS_OFF'
  end;
end
$$;
comment on function loom._build_overtaken(loom.build, loom.work_kind, loom.profile_schema) is
  'What has changed since a lease was given and its sources were read, so that nothing may be written: an erasure, the schema or the kind''s switch, a fact that was read (edited, dated anew or gone), the org''s leave to call a model. Null: all is as it was.';
