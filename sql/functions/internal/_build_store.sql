create or replace function loom._build_store(p_build loom.build) returns void
language plpgsql volatile
as $$
begin
  update loom.build
  set schema_rev = p_build.schema_rev, due_at = p_build.due_at, listed_at = p_build.listed_at,
    modelless = p_build.modelless, row_state = p_build.row_state, built_at = p_build.built_at,
    built_digest = p_build.built_digest, built_count = p_build.built_count, built_sha256 = p_build.built_sha256,
    built_sources = p_build.built_sources, tried_at = p_build.tried_at, tried_sha256 = p_build.tried_sha256,
    tried_count = p_build.tried_count,
    attempts = p_build.attempts, last_error = p_build.last_error, next_attempt_at = p_build.next_attempt_at,
    refused = p_build.refused, refused_until = p_build.refused_until, lease_id = p_build.lease_id,
    leased_until = p_build.leased_until, lease_epoch = p_build.lease_epoch, lease_sha256 = p_build.lease_sha256,
    read_digest = p_build.read_digest, read_count = p_build.read_count, read_ids = p_build.read_ids,
    read_part = p_build.read_part
  where org = p_build.org and namespace = p_build.namespace and kind = p_build.kind and user_id = p_build.user_id;
  if not found then
    insert into loom.build (org, namespace, kind, user_id, schema_rev, due_at, listed_at, modelless, row_state)
    values (p_build.org, p_build.namespace, p_build.kind, p_build.user_id, p_build.schema_rev, p_build.due_at,
      p_build.listed_at, p_build.modelless, p_build.row_state);
  end if;
end
$$;
comment on function loom._build_store(loom.build) is
  'Writes a build as it shall stand, behind the user''s state row; a new one has not been built, tried or leased.';
