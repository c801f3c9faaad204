create or replace function loom._source_trace(p_request jsonb) returns text
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
declare
  v_trace text := loom._bounded_text(p_request, 'source_trace', 2000);
begin
  if v_trace ^@ 'profile.fold:' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'source_trace', 'reason', 'is the worker''s own')::text,
      hint = 'Only the worker writes derived rows and their traces.';
  end if;
  return v_trace;
end
$$;
comment on function loom._source_trace(jsonb) is
  'Where a fact comes from, 2,000 characters at most; null when left out. LM001 for a trace that only the worker writes, LM406.';
