create or replace function loom._build_behind(p_build loom.build, p_state loom.user_state, p_sha256 text)
returns boolean
language plpgsql immutable
as $$
begin
  -- For a user with no facts and no row to replace nothing is written.
  if p_state.source_count = 0 and p_build.row_state is null then
    return false;
  end if;
  return p_build.row_state is distinct from 'served'
    or (p_build.built_digest, p_build.built_count, p_build.built_sha256)
      is distinct from (p_state.source_digest, p_state.source_count, p_sha256);
end
$$;
comment on function loom._build_behind(loom.build, loom.user_state, text) is
  'Whether what is served was built from other sources, or under another schema, than those of now, or nothing is served.';
