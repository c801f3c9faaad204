create or replace function loom._search_narrowed(p_request jsonb) returns loom.search_filter
language plpgsql immutable
as $$
declare
  v_filter loom.search_filter;
  v_type text := loom._choice(p_request, 'memory_type', '{semantic,episodic,procedural,preference,decision}');
begin
  v_filter.plane := 'memory';
  v_filter.types := case when v_type is not null then array[v_type] end;
  v_filter.tags := loom._tags(p_request, 'tags');
  v_filter.source_class := loom._choice(p_request, 'source_class', '{stated,observed,imported,derived}');
  return v_filter;
end
$$;
comment on function loom._search_narrowed(jsonb) is 'The conditions of a search for facts beside its question. LM001, LM406.';
