create or replace function loom.work_read(p_org text, p_lease_id uuid) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_now timestamptz := loom._now();
  v_build loom.build := loom._lease_enter(v_org, p_lease_id, v_now);
  v_kind loom.work_kind;
  v_state loom.user_state;
  v_schema loom.profile_schema;
  v_sources jsonb;
begin
  if v_build.org is null then
    return jsonb_build_object('found', false);
  end if;
  v_kind := loom._kind_of_work(v_build.kind);
  select * into v_state from loom.user_state
  where org = v_org and namespace = v_build.namespace and user_id = v_build.user_id;
  v_schema := loom._work_schema(v_kind, v_org, v_build.namespace);
  v_state := loom._state_of_kind(v_state, v_build.kind);
  select coalesce(jsonb_agg(loom._source_json(fact) order by confidence desc, loom._dated(fact) desc, memory_id), '[]'),
    coalesce(array_agg(memory_id order by memory_id), '{}'), coalesce(bit_xor(source_part), 0::bit(128))
  into v_sources, v_build.read_ids, v_build.read_part
  from (
    select * from loom.memory
    where org = v_org and namespace = v_build.namespace and user_id = v_build.user_id and version > 0
      and source_part is not null and memory_type = any (v_kind.memory_types)
    order by confidence desc, coalesce(valid_at, changed_at) desc, memory_id
    limit v_kind.memory_limit
  ) as fact;
  v_build.read_digest := v_state.source_digest;
  v_build.read_count := v_state.source_count;
  perform loom._build_store(v_build);
  return jsonb_build_object('found', true, 'kind', v_build.kind, 'namespace', v_build.namespace,
    'user_id', v_build.user_id, 'leased_until', loom._ts(v_build.leased_until), 'attempt', v_build.attempts,
    'seconds_left', greatest(extract(epoch from v_build.leased_until - loom._now()), 0),
    'json_schema', v_schema.json_schema, 'estimate', loom._schema_estimate(v_schema.json_schema), 'schema_sha256', v_schema.schema_sha256,
    'current', v_schema.schema_sha256 is not distinct from v_build.lease_sha256,
    'char_limit', v_kind.char_limit, 'model_calls', loom._model_calls(v_org), 'source_count', v_state.source_count, 'sources', v_sources);
end
$$;
comment on function loom.work_read(text, uuid) is
'What the holder of a lease builds from: the schema (of the fold: {}), and the user''s facts of the kind''s types, the most confident and then the newest first, up to the kind''s memory limit. What was read is noted, since the completion holds good for just that. Read it once, right before the call of a model, and call none when model_calls or current is false, or when there are no sources.

Returns: found (false: the lease is over), kind, namespace, user_id, leased_until, seconds_left (of the lease), attempt, json_schema, estimate (tokens that a full answer may take; of the fold null), schema_sha256, current (whether the schema is still the one of the claim, and the kind switched on), char_limit (of the section, its value as JSON), model_calls (whether the org allows them, and has tokens left today), source_count, sources [{memory_id, memory_key, memory_type, value, confidence, dated}].
Errors: LM001.';
