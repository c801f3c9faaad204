create or replace function loom._source_trace_given(p_request jsonb) returns text
language plpgsql immutable parallel safe
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
comment on function loom._source_trace_given(jsonb) is
  'Where a fact comes from, where the request says so. LM001, LM406.';
