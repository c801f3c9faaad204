create or replace function loom._build_built(p_new loom.build, p_leased loom.build, p_sources jsonb, p_at timestamptz)
returns loom.build
language plpgsql immutable
as $$
begin
  p_new.built_at := p_at;
  p_new.built_digest := p_leased.read_digest;
  p_new.built_count := p_leased.read_count;
  p_new.built_sha256 := p_leased.lease_sha256;
  p_new.built_sources := p_sources;
  p_new.attempts := 0;
  p_new.next_attempt_at := null;
  p_new.last_error := null;
  p_new.refused := null;
  p_new.refused_until := null;
  return p_new;
end
$$;
comment on function loom._build_built(loom.build, loom.build, jsonb, timestamptz) is
  'A build that has succeeded: from the digest that was read, under the schema of the lease.';
