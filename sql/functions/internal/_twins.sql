create or replace function loom._twins(p_row loom.memory, p_at timestamptz) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_oldest loom.memory;
  v_marked loom.memory;
begin
  if p_row.user_id = '-' or p_row.content_sha256 is null
    or p_row.memory_type not in ('semantic', 'preference', 'decision') then
    return;
  end if;
  select * into v_oldest from loom.memory as twin
  where org = p_row.org and namespace = p_row.namespace and agent = p_row.agent
    and user_id = p_row.user_id and session_id = p_row.session_id
    and memory_type = p_row.memory_type and content_sha256 = p_row.content_sha256
    and loom._is_current(twin, p_at)
  order by created_at, memory_id
  limit 1;
  if v_oldest.memory_id is null then
    return;
  end if;
  v_marked := loom._source_mark(v_oldest, v_oldest, p_at);
  if (v_marked.source_part, v_marked.changes_at) is distinct from (v_oldest.source_part, v_oldest.changes_at) then
    update loom.memory set source_part = v_marked.source_part, changes_at = v_marked.changes_at
    where org = v_oldest.org and memory_id = v_oldest.memory_id;
  end if;
end
$$;
comment on function loom._twins(loom.memory, timestamptz) is
  'After a row has left those that said the same as this: the oldest current one that is left (of this identity, type and hash) counts as a source, if it is one at all.';
