create or replace function loom._built_from(p_row loom.memory, p_source_ids uuid[]) returns void
language plpgsql volatile
as $$
begin
  insert into loom.memory_source (org, source_id, memory_id, version, namespace, user_id)
  select p_row.org, source_id, p_row.memory_id, p_row.version, p_row.namespace, p_row.user_id
  from unnest(p_source_ids) as read (source_id)
  order by source_id;
end
$$;
comment on function loom._built_from(loom.memory, uuid[]) is
  'Notes from which facts a version was made, so that a redaction of one of them reaches it.';
