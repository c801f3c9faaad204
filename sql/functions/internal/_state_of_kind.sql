create or replace function loom._state_of_kind(p_state loom.user_state, p_kind text) returns loom.user_state
language plpgsql immutable
as $$
begin
  if p_kind = 'profile_consolidation' then
    p_state.source_digest := p_state.fold_digest;
    p_state.source_count := p_state.fold_count;
  end if;
  return p_state;
end
$$;
comment on function loom._state_of_kind(loom.user_state, text) is
  'A user''s state as a kind of work sees it: digest and count are those of the sources that the kind reads. next_change_at may be the moment of a fact that it does not read: it looks then in vain, and without a model.';
