create or replace function loom._built_draft(
  p_row loom.memory, p_build loom.build, p_kind loom.work_kind, p_value jsonb, p_at timestamptz
) returns loom.memory
language plpgsql volatile
as $$
declare
  v_new loom.memory := p_row;
begin
  if p_row.version is null then
    v_new.org := p_build.org;
    v_new.namespace := p_build.namespace;
    v_new.agent := '-';
    v_new.user_id := p_build.user_id;
    v_new.session_id := '-';
    v_new.memory_key := p_kind.label;
  end if;
  if p_row.version is null or p_row.memory_type <> 'profile' or not loom._is_current(p_row, p_at) then
    v_new := loom._memory_fresh(v_new, 'profile');
  end if;
  v_new.char_limit := p_kind.char_limit;
  v_new := loom._memory_measure(v_new, p_value);
  v_new.source_class := 'derived';
  v_new.source_trace := format('profile.fold:%s:%s', p_kind.label, array_to_string(p_build.read_ids, ','));
  v_new.expires_at := null;
  v_new.valid_at := null;
  v_new.valid_to := null;
  v_new.recorded_at := greatest(p_at, p_row.recorded_at + interval '1 microsecond');
  v_new.changed_at := v_new.recorded_at;
  return v_new;
end
$$;
comment on function loom._built_draft(loom.memory, loom.build, loom.work_kind, jsonb, timestamptz) is
  'The row as the worker is to write it: another value and the trace of what it was read from; what a caller labelled it with stays. LM001, LM402.';
