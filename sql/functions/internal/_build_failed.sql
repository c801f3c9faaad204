create or replace function loom._build_failed(
  p_leased loom.build, p_state loom.user_state, p_kind loom.work_kind, p_outcome text, p_error text,
  p_retry_seconds integer, p_at timestamptz
) returns loom.build
language plpgsql immutable
as $$
declare
  v_build loom.build := loom._build_unlease(p_leased);
begin
  v_build.next_attempt_at := null;
  if p_outcome <> 'released' then
    v_build.last_error := p_error;
  end if;
  if p_outcome = 'failed' then
    v_build.next_attempt_at := p_at + loom._backoff(p_kind, v_build.attempts);
    return v_build;
  end if;
  v_build.attempts := greatest(v_build.attempts - 1, 0);
  if p_outcome = 'waiting' then
    v_build.next_attempt_at := p_at + greatest(least(interval '30 seconds', p_kind.backoff_base),
      least(coalesce(make_interval(secs => p_retry_seconds), p_kind.backoff_base), p_kind.backoff_cap));
  elsif p_outcome = 'cut_off' then
    v_build := loom._build_tried(loom._build_refuse(v_build, p_kind, 'CUT_OFF', null, p_at), p_leased, p_state, p_kind, p_at);
  end if;
  return v_build;
end
$$;
comment on function loom._build_failed(loom.build, loom.user_state, loom.work_kind, text, text, integer, timestamptz) is
  'A leased build after a try without a result, with the wait that its outcome asks for.';
