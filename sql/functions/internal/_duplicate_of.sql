create or replace function loom._duplicate_of(p_row loom.memory, p_at timestamptz) returns uuid
language plpgsql volatile
as $$
declare
  v_oldest uuid;
begin
  -- Only the oldest among its twins is a source.
  if p_row.source_part is not null or p_row.content_sha256 is null or p_row.expires_at <= p_at then
    return null;
  end if;
  select memory_id into v_oldest from loom.memory as twin
  where org = p_row.org and namespace = p_row.namespace and agent = p_row.agent
    and user_id = p_row.user_id and session_id = p_row.session_id
    and memory_type = p_row.memory_type and content_sha256 = p_row.content_sha256
    and loom._is_current(twin, p_at)
  order by created_at, memory_id
  limit 1;
  return nullif(v_oldest, p_row.memory_id);
end
$$;
comment on function loom._duplicate_of(loom.memory, timestamptz) is
  'The row that this one repeats: the oldest one current now of the same identity and type with the same hash; null when that is itself.';
