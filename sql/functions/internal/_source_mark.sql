create or replace function loom._source_mark(p_old loom.memory, p_new loom.memory, p_at timestamptz)
returns loom.memory
language plpgsql volatile
as $$
declare
  v_part bit(128) := loom._source_part(p_new, p_at);
  v_twin loom.memory;
begin
  p_new.source_part := v_part;
  p_new.changes_at := case when v_part is not null then least(p_new.expires_at, p_new.valid_to) end;
  if p_new.user_id = '-' or p_new.memory_type not in ('semantic', 'preference', 'decision')
    or not loom._is_current(p_new, p_at) then
    return p_new;
  end if;
  -- What was the oldest among its twins is so still, unless its time has passed meanwhile.
  if v_part is not null and p_old.source_part is not null and loom._same_twins(p_old, p_new) is true
    and (p_old.changes_at <= p_at) is not true then
    return p_new;
  end if;
  v_twin := loom._oldest_twin(p_new, p_at);
  if (v_twin.created_at, v_twin.memory_id) < (p_new.created_at, p_new.memory_id) then
    p_new.source_part := null;
    p_new.changes_at := null;
    -- The end of an older one that is no source is no moment, until a younger one waits for it.
    if v_part is not null and v_twin.source_part is null then
      update loom.memory set changes_at = expires_at
      where org = p_new.org and memory_id = v_twin.memory_id and changes_at is null and expires_at is not null;
    end if;
  elsif v_twin.memory_id is not null then
    p_new.changes_at := coalesce(p_new.changes_at, p_new.expires_at);
    update loom.memory set source_part = null, changes_at = null
    where org = p_new.org and namespace = p_new.namespace and agent = p_new.agent
      and user_id = p_new.user_id and session_id = p_new.session_id
      and memory_type = p_new.memory_type and content_sha256 = p_new.content_sha256
      and memory_id <> p_new.memory_id and (source_part is not null or changes_at is not null);
  end if;
  return p_new;
end
$$;
comment on function loom._source_mark(loom.memory, loom.memory, timestamptz) is
  'The row about to be written with its part of the source digest, and the moment at which time alone changes that: of rows that say the same the oldest current one counts, if it is a source at all, and the others of its twins make room. A row that is no source has a moment when a younger twin may then take its place.';
