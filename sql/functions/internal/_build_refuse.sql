create or replace function loom._build_refuse(
  p_build loom.build, p_kind loom.work_kind, p_code text, p_lock_until timestamptz, p_at timestamptz
) returns loom.build
language plpgsql immutable
as $$
begin
  p_build.refused := p_code;
  p_build.refused_until := least(p_at + p_kind.refusal_retry, case when p_lock_until > p_at then p_lock_until end);
  return p_build;
end
$$;
comment on function loom._build_refuse(loom.build, loom.work_kind, text, timestamptz, timestamptz) is
  'A build that is not to be tried again until the user''s memories, the row or the schema change, a lock lapses, or the wait for refusals is over.';
