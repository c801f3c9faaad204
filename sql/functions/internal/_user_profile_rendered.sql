create or replace function loom._user_profile_rendered(p_caller loom.caller, p_format text, p_language text) returns text
language plpgsql volatile
as $$
declare
  v_row loom.user_profile;
begin
  -- As user_profile.render refuses it: what all sessions told is not for a token of one.
  if p_caller.user_id is null or p_caller.user_id = '-' or p_caller.bound_session is not null then
    return '';
  end if;
  v_row := loom._user_profile_find(p_caller, row('', '', '', '')::loom.profile_scope);
  if v_row.profile is null then
    return '';
  end if;
  return loom._user_profile_body(v_row.profile, p_format, p_language);
end
$$;
comment on function loom._user_profile_rendered(loom.caller, text, text) is
  'The profile of the caller''s user, of no scope, as part of a prompt (xml, or text for any other format); empty where there is none. A pure function of the profile''s content.';
