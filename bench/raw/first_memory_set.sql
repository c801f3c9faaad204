-- What stands for `memory.set` while a database is of the first schema, whose own functions are
-- gone: the same locks and rows, and none of the rules. The upgrade puts today's in its place.
create or replace function loom.memory_set(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('memory.set', p_request);
  v_value jsonb := p_request -> 'value';
  v_hash text := loom._sha256(v_value::text);
  v_row loom.memory;
begin
  insert into loom.user_state (org, namespace, user_id, created_at)
  values (v_caller.org, v_caller.namespace, v_caller.user_id, v_caller.called_at)
  on conflict do nothing;
  perform from loom.user_state
  where org = v_caller.org and namespace = v_caller.namespace and user_id = v_caller.user_id
  for no key update;
  insert into loom.memory as kept (org, namespace, agent, user_id, session_id, memory_key, memory_type,
    value, content_sha256, value_length, char_limit, source_class, version, recorded_at, changed_at,
    author, actor, created_at, created_by)
  values (v_caller.org, v_caller.namespace, v_caller.agent, v_caller.user_id, v_caller.session_id,
    p_request ->> 'memory_key', 'semantic', v_value, v_hash, char_length(v_value::text), 262144, 'stated', 1,
    v_caller.called_at, v_caller.called_at, v_caller.actor, v_caller.actor, v_caller.called_at, v_caller.actor)
  on conflict on constraint memory_pkey do update
  set value = excluded.value, content_sha256 = excluded.content_sha256,
    value_length = excluded.value_length, version = kept.version + 1,
    recorded_at = excluded.recorded_at, changed_at = excluded.changed_at
  returning * into v_row;
  insert into loom.memory_version (org, memory_id, version, namespace, user_id, change, value_version, value,
    content_sha256, value_length, char_limit, memory_type, tags, confidence, source_class, pinned, sensitivity,
    recorded_at, changed_at, author, actor)
  values (v_row.org, v_row.memory_id, v_row.version, v_row.namespace, v_row.user_id, 'set', v_row.version,
    v_row.value, v_row.content_sha256, v_row.value_length, v_row.char_limit, v_row.memory_type, v_row.tags,
    v_row.confidence, v_row.source_class, v_row.pinned, v_row.sensitivity, v_row.recorded_at, v_row.changed_at,
    v_row.author, v_row.actor);
  return jsonb_build_object('version', v_row.version);
end
$$;
comment on function loom.memory_set(jsonb) is 'Stands for memory.set on the first schema.';
