create or replace function loom._scrub(
  p_org text, p_memory_id uuid, p_source_id uuid, p_at timestamptz, p_actor text
) returns bigint
language plpgsql volatile
as $$
declare
  v_row loom.memory;
  v_scrubbed bigint;
  v_newest boolean;
  v_made text[];
begin
  select * into v_row from loom.memory where org = p_org and memory_id = p_memory_id for update;
  -- By hash, since a caller may have restored or reverted to what was made.
  v_made := array(
    select made.content_sha256 from loom.memory_source as source
    join loom.memory_version as made
      on made.org = p_org and made.memory_id = p_memory_id and made.version = source.version
    where source.org = p_org and source.source_id = p_source_id and source.memory_id = p_memory_id);
  update loom.memory_version
  set value = null, content_sha256 = null, value_length = null, value_version = null,
    source_trace = null, lock_reason = null, tags = '{}', redacted_at = p_at
  where org = p_org and memory_id = p_memory_id and redacted_at is null
    and (p_source_id is null or content_sha256 = any (v_made));
  get diagnostics v_scrubbed = row_count;
  select redacted_at is not null into v_newest from loom.memory_version
  where org = p_org and memory_id = p_memory_id and version = v_row.version;
  if v_newest and v_row.redacted_at is null then
    perform loom._memory_store(v_row, loom._memory_redacted(v_row, greatest(p_at, v_row.recorded_at + interval '1 microsecond')), 'redact', p_actor);
  end if;
  return v_scrubbed;
end
$$;
comment on function loom._scrub(text, uuid, uuid, timestamptz, text) is
  'Takes value, hash, tags and trace out of every version of a row, or only of those that say what was made from one source; when the newest is among them the row reads as redacted, by a version that says so.';
