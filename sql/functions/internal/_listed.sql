create or replace function loom._listed(p_row loom.memory, p_caller loom.caller, p_filter loom.memory_filter)
returns boolean
language plpgsql immutable
as $$
begin
  return (p_filter.include_deleted or loom._is_current(p_row, p_caller.called_at))
    and loom._in_reach(p_row, p_caller)
    and (p_filter.memory_type is null or p_row.memory_type = p_filter.memory_type)
    and (p_filter.source_class is null or p_row.source_class = p_filter.source_class)
    and (p_filter.memory_key is null or p_row.memory_key = p_filter.memory_key)
    and (p_filter.key_prefix is null or p_row.memory_key ^@ p_filter.key_prefix)
    and (p_filter.tags is null or p_row.tags @> p_filter.tags);
end
$$;
comment on function loom._listed(loom.memory, loom.caller, loom.memory_filter) is
  'Whether a list shows the row: in reach, current unless deleted ones are asked for, and as the filter says.';
