create or replace function loom._memory_delete(
  p_caller loom.caller, p_key text, p_request jsonb, p_type text
) returns jsonb
language plpgsql volatile
as $$
declare
  v_old loom.memory := loom._memory_lock(p_caller, p_key);
  v_at timestamptz := loom._memory_now(v_old);
  v_live boolean := v_old.version is not null and loom._is_current(v_old, v_at)
    and (p_type is null or v_old.memory_type = p_type);
  v_new loom.memory := v_old;
  v_ok boolean;
begin
  v_ok := loom._memory_guard(v_old, v_at, loom._text(p_request, 'if_match_sha256'), true);
  if v_live then
    v_new.value := null;
    v_new.content_sha256 := null;
    v_new.value_length := null;
    v_new.recorded_at := v_at;
    v_new.changed_at := v_at;
    v_new.deleted_at := v_at;
    v_new := loom._memory_store(v_old, v_new, 'delete', p_caller.actor);
  end if;
  return jsonb_build_object('found', v_live, 'tombstoned', v_new.deleted_at is not null,
    'memory_id', v_new.memory_id, 'version', v_new.version, 'version_text', v_new.version::text);
end
$$;
comment on function loom._memory_delete(loom.caller, text, jsonb, text) is
  'Makes a tombstone of a current row, of the type where one is named. Errors: LM201, LM205.';
