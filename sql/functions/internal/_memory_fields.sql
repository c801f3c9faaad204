create or replace function loom._memory_fields(
  p_row loom.memory, p_request jsonb, p_at timestamptz, p_changed boolean
) returns loom.memory
language plpgsql immutable
as $$
declare
  v_ttl integer := loom._integer(p_request, 'ttl_seconds', 1, 315360000);
  v_expires_at timestamptz := loom._time(p_request, 'expires_at');
begin
  -- A changed value is a new statement: it does not keep the dates of the old one.
  if coalesce(loom._boolean(p_request, 'clear_valid'), false) or p_changed then
    p_row.valid_at := null;
    p_row.valid_to := null;
  end if;
  -- What a caller writes over the worker's is the caller's word.
  if p_changed and p_row.source_class = 'derived' then
    p_row.source_class := 'stated';
    p_row.source_trace := null;
  end if;
  p_row.valid_at := coalesce(loom._time(p_request, 'valid_at'), p_row.valid_at);
  p_row.valid_to := coalesce(loom._time(p_request, 'valid_to'), p_row.valid_to);
  if coalesce(loom._boolean(p_request, 'clear_expiry'), false) then
    p_row.expires_at := null;
  end if;
  if v_ttl is not null and v_expires_at is not null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'ttl_seconds', 'reason', 'contradicts expires_at')::text,
      hint = 'Send one of the two.';
  end if;
  p_row.expires_at := coalesce(v_expires_at, p_at + make_interval(secs => v_ttl), p_row.expires_at);
  -- Empty tags and an empty trace take nothing away: memory.label removes tags by name.
  p_row.tags := coalesce(nullif(loom._tags(p_request, 'tags'), '{}'), p_row.tags);
  p_row.confidence := coalesce(loom._confidence(p_request), p_row.confidence);
  p_row.source_class := coalesce(loom._choice(p_request, 'source_class', '{stated,observed,imported}'),
    p_row.source_class);
  p_row.source_trace := coalesce(nullif(loom._source_trace(p_request), ''), p_row.source_trace);
  p_row.pinned := coalesce(loom._boolean(p_request, 'pinned'), p_row.pinned);
  p_row.sensitivity := coalesce(loom._choice(p_request, 'sensitivity', '{low,normal,high}'), p_row.sensitivity);
  return p_row;
end
$$;
comment on function loom._memory_fields(loom.memory, jsonb, timestamptz, boolean) is
  'The row with the metadata that a request names; what it leaves out stays, but that a changed value drops the old dates. LM001, LM406.';
