create or replace function loom._build_end(
  p_build loom.build, p_leased loom.build, p_kind loom.work_kind, p_schema loom.profile_schema,
  p_outcome text, p_reason text, p_at timestamptz
) returns jsonb
language plpgsql volatile
as $$
declare
  v_state loom.user_state;
begin
  select * into v_state from loom.user_state
  where org = p_build.org and namespace = p_build.namespace and user_id = p_build.user_id;
  v_state := loom._state_of_kind(v_state, p_kind.kind);
  p_build := loom._build_tried(p_build, p_leased, v_state, p_kind, p_at);
  if p_outcome in ('requeued', 'refused', 'nothing') then
    p_build.last_error := p_reason;
    -- No failure of a call: that is what attempts and their backoff are for.
    p_build.attempts := greatest(p_build.attempts - 1, 0);
    p_build.next_attempt_at := null;
  end if;
  perform loom._build_store(loom._build_look(p_build, v_state, p_kind, p_schema, p_at));
  return jsonb_build_object('outcome', p_outcome, 'reason', p_reason);
end
$$;
comment on function loom._build_end(loom.build, loom.build, loom.work_kind, loom.profile_schema, text, text, timestamptz) is
  'Ends a try, whatever came of it, and sees when the user is to be looked at next. p_leased is the build as it was leased.';
