create or replace function loom._backoff(p_kind loom.work_kind, p_attempts integer) returns interval
language plpgsql immutable
as $$
begin
  -- Past 30 doublings any base is over any cap.
  return least(p_kind.backoff_cap, p_kind.backoff_base * power(2::numeric, least(greatest(p_attempts, 1) - 1, 30))::double precision);
end
$$;
comment on function loom._backoff(loom.work_kind, integer) is
  'How long a build waits after so many failures in a row: the base, doubled each time, up to the cap.';
