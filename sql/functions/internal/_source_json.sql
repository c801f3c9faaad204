create or replace function loom._source_json(p_row loom.memory) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object('memory_id', p_row.memory_id, 'memory_key', p_row.memory_key,
    'memory_type', p_row.memory_type, 'value', p_row.value, 'confidence', p_row.confidence,
    'dated', loom._ts(loom._dated(p_row)));
end
$$;
comment on function loom._source_json(loom.memory) is 'A fact as a build reads it.';
