create or replace function loom._until(p_request jsonb, p_at timestamptz) returns timestamptz
language plpgsql immutable
as $$
declare
  v_until timestamptz := loom._time(p_request, 'until');
  v_ttl integer := loom._integer(p_request, 'ttl_seconds', 1, 315360000);
begin
  if v_until is not null and v_ttl is not null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'ttl_seconds', 'reason', 'contradicts until')::text,
      hint = 'Send one of the two.';
  end if;
  return coalesce(v_until, p_at + make_interval(secs => v_ttl));
end
$$;
comment on function loom._until(jsonb, timestamptz) is
  'When a lock ends: until, or ttl_seconds from now; null for a lock without end. LM001.';
