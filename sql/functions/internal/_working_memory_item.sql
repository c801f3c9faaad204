create or replace function loom._working_memory_item(p_block loom.working_memory) returns jsonb
language plpgsql immutable
as $$
begin
  return (loom._working_memory_receipt(p_block, false) - 'created') || jsonb_build_object(
    'description', p_block.description, 'read_only', p_block.read_only,
    'created_at', loom._ts(p_block.created_at), 'created_by', p_block.created_by,
    'updated_by', p_block.updated_by, 'deleted_at', loom._ts(p_block.deleted_at));
end
$$;
comment on function loom._working_memory_item(loom.working_memory) is 'A block as a list shows it: everything but its text.';
