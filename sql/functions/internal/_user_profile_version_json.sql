create or replace function loom._user_profile_version_json(p_version loom.user_profile_version) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object('version', p_version.version, 'version_text', p_version.version::text,
    'revision', p_version.revision, 'change', p_version.change, 'profile', p_version.profile,
    'source', p_version.source, 'recorded_at', loom._ts(p_version.recorded_at), 'actor', p_version.actor);
end
$$;
comment on function loom._user_profile_version_json(loom.user_profile_version) is 'A version of a profile as a history shows it.';
