create or replace function loom._blacklist_json(p_entry loom.blacklist) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object('blacklist_id', p_entry.blacklist_id, 'org', p_entry.org,
    'scope', case p_entry.namespace when '' then 'org' else 'namespace' end,
    'namespace', nullif(p_entry.namespace, ''), 'pattern', p_entry.pattern,
    'pattern_type', p_entry.pattern_type, 'reason', p_entry.reason,
    'created_at', loom._ts(p_entry.created_at), 'created_by', p_entry.created_by);
end
$$;
comment on function loom._blacklist_json(loom.blacklist) is 'A blacklist entry as the wire shows it.';
