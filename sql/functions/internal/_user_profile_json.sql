create or replace function loom._user_profile_json(p_row loom.user_profile) returns jsonb
language plpgsql immutable
as $$
declare
  v_version bigint := case when p_row.profile is null then 0 else p_row.version end;
begin
  return jsonb_build_object('profile', coalesce(p_row.profile, loom._user_profile_empty()), 'version', v_version,
    'version_text', v_version::text, 'source', case when p_row.profile is not null then p_row.source end,
    'updated_at', case when p_row.profile is not null then loom._ts(p_row.updated_at) end);
end
$$;
comment on function loom._user_profile_json(loom.user_profile) is
  'A profile as answers show it; of one that is not there, the empty one with version 0.';
