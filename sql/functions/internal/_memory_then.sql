create or replace function loom._memory_then(
  p_caller loom.caller, p_row loom.memory, p_key text, p_as_of timestamptz
) returns loom.memory
language plpgsql volatile
as $$
declare
  v_version loom.memory_version;
  v_then loom.memory;
begin
  -- A key means what was nearest then: rows have come and gone since.
  select past.* into v_then from loom.memory as candidate
  cross join lateral (
    select * from loom.memory_version
    where org = candidate.org and memory_id = candidate.memory_id and recorded_at <= p_as_of
    order by version desc limit 1
  ) as recorded
  cross join lateral loom._memory_as_of(candidate, recorded) as past
  where candidate.org = p_caller.org and candidate.namespace = p_caller.namespace
    and candidate.memory_key = p_key and loom._in_reach(candidate, p_caller)
    and loom._is_current(past, p_as_of)
  order by
    case past.user_id when p_caller.user_id then 1 when '-' then 2 else 3 end,
    case past.session_id when p_caller.session_id then 1 when '-' then 2 else 3 end,
    case past.agent when p_caller.agent then 1 when '-' then 2 else 3 end,
    past.user_id, past.session_id, past.agent
  limit 1;
  if found then
    return v_then;
  end if;
  select * into v_version from loom.memory_version
  where org = p_row.org and memory_id = p_row.memory_id and recorded_at <= p_as_of
  order by version desc limit 1;
  return case when found then loom._memory_as_of(p_row, v_version) end;
end
$$;
comment on function loom._memory_then(loom.caller, loom.memory, text, timestamptz) is
  'What a read meant at a time past, as it stood then: by key the row that was nearest then, else the given row; nulls where it was not there yet.';
