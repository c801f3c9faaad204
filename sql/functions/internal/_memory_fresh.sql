create or replace function loom._memory_fresh(p_row loom.memory, p_type text) returns loom.memory
language plpgsql immutable
as $$
declare
  v_fresh loom.memory;
begin
  v_fresh.org := p_row.org;
  v_fresh.namespace := p_row.namespace;
  v_fresh.agent := p_row.agent;
  v_fresh.user_id := p_row.user_id;
  v_fresh.session_id := p_row.session_id;
  v_fresh.memory_key := p_row.memory_key;
  v_fresh.memory_id := p_row.memory_id;
  v_fresh.version := p_row.version;
  v_fresh.created_at := p_row.created_at;
  v_fresh.created_by := p_row.created_by;
  v_fresh.memory_type := p_type;
  v_fresh.char_limit := case p_type when 'profile' then 8192 else 262144 end;
  v_fresh.tags := '{}';
  v_fresh.confidence := 1;
  v_fresh.source_class := 'stated';
  v_fresh.pinned := false;
  v_fresh.sensitivity := 'normal';
  v_fresh.reinforcement_count := 0;
  return v_fresh;
end
$$;
comment on function loom._memory_fresh(loom.memory, text) is
  'A row with the defaults of its type at the key of another, which is not current (or not there at all): what a first write starts from.';
