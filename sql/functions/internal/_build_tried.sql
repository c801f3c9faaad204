create or replace function loom._build_tried(
  p_build loom.build, p_leased loom.build, p_state loom.user_state, p_kind loom.work_kind, p_at timestamptz
) returns loom.build
language plpgsql immutable
as $$
begin
  p_build.tried_at := p_at;
  -- Of the lease, not of now: a schema that changed meanwhile has not been tried.
  p_build.tried_sha256 := p_leased.lease_sha256;
  -- Null where this try skipped the cooldown: else facts that go one by one would cost a call each.
  p_build.tried_count := case when p_leased.tried_sha256 = p_leased.lease_sha256
    and p_at < p_leased.tried_at + p_kind.cooldown then null else p_leased.read_count end;
  -- A refusal speaks of the facts that were read; that they changed while the model thought ends it.
  if p_state.source_digest is distinct from p_leased.read_digest then
    p_build.refused := null;
    p_build.refused_until := null;
  end if;
  return p_build;
end
$$;
comment on function loom._build_tried(loom.build, loom.build, loom.user_state, loom.work_kind, timestamptz) is
  'A build after a try for which a model may have been paid: from its end the cooldown counts.';
