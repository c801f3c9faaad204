create or replace function loom._fold_changed(
  p_state loom.user_state, p_change loom.source_change, p_at timestamptz
) returns void
language plpgsql volatile
as $$
declare
  v_kind text := 'profile_consolidation';
begin
  if not p_change.fold_row then
    perform from loom.work_kind where kind = v_kind and enabled;
    if not found then
      -- While nobody folds, a user only has to be known: from the first source on, or a moment that may make
      -- one. Whoever had sources before is.
      if p_state.fold_count = p_change.fold_added then
        insert into loom.build (org, namespace, kind, user_id)
        values (p_state.org, p_state.namespace, v_kind, p_state.user_id)
        on conflict (org, namespace, kind, user_id) do nothing;
      end if;
      return;
    end if;
  end if;
  p_change.part := p_change.fold_part;
  p_change.profile_row := p_change.fold_row;
  p_change.row_state := p_change.fold_row_state;
  perform loom._build_changed(v_kind, loom._state_of_kind(p_state, v_kind), p_change, p_at);
end
$$;
comment on function loom._fold_changed(loom.user_state, loom.source_change, timestamptz) is
  'After a change of what the fold reads of a user, or of the section that it writes. While it is switched off what is due is not kept: all are looked at again when it is switched on.';
