create or replace function loom._build_unlease(p_build loom.build) returns loom.build
language plpgsql immutable
as $$
begin
  p_build.lease_id := null;
  p_build.leased_until := null;
  p_build.lease_epoch := null;
  p_build.lease_sha256 := null;
  p_build.read_digest := null;
  p_build.read_count := null;
  p_build.read_ids := null;
  p_build.read_part := null;
  return p_build;
end
$$;
comment on function loom._build_unlease(loom.build) is 'A build that nobody is at any longer.';
