create or replace function loom._oldest_twin(p_row loom.memory, p_at timestamptz) returns loom.memory
language plpgsql volatile
as $$
declare
  v_oldest loom.memory;
begin
  select * into v_oldest from loom.memory as twin
  where org = p_row.org and namespace = p_row.namespace and agent = p_row.agent
    and user_id = p_row.user_id and session_id = p_row.session_id
    and memory_type = p_row.memory_type and content_sha256 = p_row.content_sha256
    and memory_id <> p_row.memory_id and loom._is_current(twin, p_at)
  order by created_at, memory_id
  limit 1;
  return v_oldest;
end
$$;
comment on function loom._oldest_twin(loom.memory, timestamptz) is
  'The oldest current row besides this one of the same identity and type that says the same; all null when there is none.';
