create or replace function loom._memory_store(
  p_old loom.memory, p_new loom.memory, p_change text, p_actor text
) returns loom.memory
language plpgsql volatile
as $$
declare
  v_value_version bigint;
  -- Not when it is recorded, which can lie a little ahead: sources are those of the clock, as reads are.
  v_at timestamptz := loom._now();
begin
  p_new.actor := p_actor;
  if p_change in ('set', 'append', 'replace', 'revert') then
    p_new.author := p_actor;
  end if;
  p_new.version := coalesce(p_old.version, 0) + 1;
  if p_new.value is not null then
    -- Where only metadata changed, the value stays where it was first written.
    if p_new.content_sha256 = p_old.content_sha256 and p_new.value = p_old.value then
      select value_version into v_value_version from loom.memory_version
      where org = p_old.org and memory_id = p_old.memory_id and version = p_old.version;
    end if;
    v_value_version := coalesce(v_value_version, p_new.version);
  end if;
  if p_old.version is null then
    p_new.memory_id := gen_random_uuid();
    p_new.created_at := p_new.recorded_at;
    p_new.created_by := p_actor;
    p_new := loom._source_mark(p_old, p_new, v_at);
    perform loom._memory_insert(p_new);
  else
    p_new := loom._source_mark(p_old, p_new, v_at);
    perform loom._memory_update(p_new);
    -- Among the twins it leaves another one may count now.
    if loom._same_twins(p_old, p_new) is not true or not loom._is_current(p_new, v_at) then
      perform loom._twins(p_old, v_at);
    end if;
  end if;
  insert into loom.memory_version (org, memory_id, version, namespace, user_id, change, value_version, value,
    content_sha256, value_length, char_limit, memory_type, tags, confidence, source_class, source_trace,
    valid_at, valid_to, expires_at, pinned, sensitivity, lock_mode, lock_reason, lock_until,
    recorded_at, changed_at, author, actor, deleted_at, redacted_at)
  values (p_new.org, p_new.memory_id, p_new.version, p_new.namespace, p_new.user_id, p_change, v_value_version,
    case when v_value_version = p_new.version then p_new.value end,
    p_new.content_sha256, p_new.value_length, p_new.char_limit, p_new.memory_type, p_new.tags,
    p_new.confidence, p_new.source_class, p_new.source_trace, p_new.valid_at, p_new.valid_to,
    p_new.expires_at, p_new.pinned, p_new.sensitivity, p_new.lock_mode, p_new.lock_reason,
    p_new.lock_until, p_new.recorded_at, p_new.changed_at, p_new.author, p_new.actor, p_new.deleted_at,
    p_new.redacted_at);
  return p_new;
end
$$;
comment on function loom._memory_store(loom.memory, loom.memory, text, text) is
  'Writes the next version of a locked row, and its place in history. The new row carries its times; version, actor, author of the value and, for a first version, id and creation are given here.';
