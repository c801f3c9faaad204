create or replace function loom._source_trace(p_request jsonb) returns text
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> 'source_trace') <> 'null' then loom._source_trace_given(p_request) end
$$;
comment on function loom._source_trace(jsonb) is
  'Where a fact comes from, 2,000 characters at most; null when left out. LM001 for a trace that only the worker writes, LM406.';
