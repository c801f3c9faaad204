create or replace function loom._sources_changed(p_changes loom.source_change[]) returns void
language plpgsql volatile
as $$
declare
  v_change loom.source_change;
  v_state loom.user_state;
  v_now timestamptz;
  v_next timestamptz;
begin
  foreach v_change in array p_changes loop
    v_now := coalesce(v_now, loom._now());
    if v_change.moments then
      select min(changes_at) into v_next from loom.memory
      where org = v_change.org and namespace = v_change.namespace and user_id = v_change.user_id
        and changes_at is not null;
    end if;
    update loom.user_state
    set source_digest = source_digest # v_change.part, source_count = source_count + v_change.added,
      fold_digest = fold_digest # v_change.fold_part, fold_count = fold_count + v_change.fold_added,
      sources_changed_at = case when v_change.part = 0::bit(128) then sources_changed_at else v_now end,
      next_change_at = case when v_change.moments then v_next else next_change_at end, rev = rev + 1
    where org = v_change.org and namespace = v_change.namespace and user_id = v_change.user_id
    returning * into v_state;
    if not found then
      raise exception using errcode = 'object_not_in_prerequisite_state',
        message = 'memory rows were written without their user''s state row',
        hint = 'Write memory rows through Loom''s operations, which enter the org and lock that row first.';
    end if;
    if v_change.part <> 0::bit(128) or v_change.moments or v_change.profile_row then
      perform loom._build_changed('structured_profile', v_state, v_change, v_now);
    end if;
    if v_change.fold_part <> 0::bit(128) or v_change.fold_moments or v_change.fold_row then
      perform loom._fold_changed(v_state, v_change, v_now);
    end if;
  end loop;
end
$$;
comment on function loom._sources_changed(loom.source_change[]) is
  'Adds what a statement did to its users'' sources to their digests, and sees whether something is to be built. Raises 55000 when a user''s state row is not to be seen: a caller that has not entered the org can never leave a digest behind its rows.';
