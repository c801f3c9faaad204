create or replace function loom._memory_redacted(p_row loom.memory, p_at timestamptz) returns loom.memory
language plpgsql immutable
as $$
begin
  p_row.value := null;
  p_row.content_sha256 := null;
  p_row.value_length := null;
  p_row.source_trace := null;
  p_row.lock_reason := null;
  p_row.tags := '{}';
  p_row.recorded_at := p_at;
  p_row.changed_at := p_at;
  p_row.redacted_at := p_at;
  return p_row;
end
$$;
comment on function loom._memory_redacted(loom.memory, timestamptz) is 'A row as it stands after a redaction: nothing of its text, not even a hash.';
