create or replace function loom._memory_as_of(p_row loom.memory, p_version loom.memory_version) returns loom.memory
language plpgsql volatile
as $$
begin
  p_row.version := p_version.version;
  p_row.value := p_version.value;
  if p_version.value is null and p_version.value_version is not null then
    select value into p_row.value from loom.memory_version
    where org = p_version.org and memory_id = p_version.memory_id and version = p_version.value_version;
  end if;
  p_row.content_sha256 := p_version.content_sha256;
  p_row.value_length := p_version.value_length;
  p_row.char_limit := p_version.char_limit;
  p_row.memory_type := p_version.memory_type;
  p_row.tags := p_version.tags;
  p_row.confidence := p_version.confidence;
  p_row.source_class := p_version.source_class;
  p_row.source_trace := p_version.source_trace;
  p_row.valid_at := p_version.valid_at;
  p_row.valid_to := p_version.valid_to;
  p_row.expires_at := p_version.expires_at;
  p_row.pinned := p_version.pinned;
  p_row.sensitivity := p_version.sensitivity;
  p_row.lock_mode := p_version.lock_mode;
  p_row.lock_reason := p_version.lock_reason;
  p_row.lock_until := p_version.lock_until;
  p_row.recorded_at := p_version.recorded_at;
  p_row.changed_at := p_version.changed_at;
  p_row.actor := p_version.actor;
  p_row.author := p_version.author;
  p_row.deleted_at := p_version.deleted_at;
  p_row.redacted_at := p_version.redacted_at;
  p_row.source_part := null;  -- a mark of the row as it is now
  return p_row;
end
$$;
comment on function loom._memory_as_of(loom.memory, loom.memory_version) is
  'The row as one of its versions stood; the value is fetched from the version that holds it.';
