create or replace function loom._memory_filter(p_request jsonb) returns loom.memory_filter
language plpgsql immutable
as $$
declare
  v_filter loom.memory_filter;
  v_cursor text[] := loom._time_cursor(p_request);
begin
  v_filter.memory_type := loom._choice(p_request, 'memory_type',
    '{semantic,episodic,procedural,preference,decision,profile}');
  v_filter.tags := loom._tags(p_request, 'tags');
  v_filter.key_prefix := loom._bounded_text(p_request, 'key_prefix', 200);
  v_filter.source_class := loom._choice(p_request, 'source_class', '{stated,observed,imported,derived}');
  v_filter.include_deleted := coalesce(loom._boolean(p_request, 'include_deleted'), false);
  v_filter.after_at := v_cursor[1]::timestamptz;
  v_filter.after_id := v_cursor[2]::uuid;
  return v_filter;
end
$$;
comment on function loom._memory_filter(jsonb) is 'What a list request asks for. LM001, LM406.';
