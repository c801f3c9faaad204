create or replace function loom._user_profile_rendered(p_caller loom.caller, p_format text, p_language text) returns text
language plpgsql volatile
as $$
declare
  v_profile jsonb;
begin
  -- As user_profile.render refuses it: what all sessions told is not for a token of one.
  if p_caller.user_id is null or p_caller.user_id = '-' or p_caller.bound_session is not null then
    return '';
  end if;
  select profile into v_profile from loom.user_profile
  where org = p_caller.org and user_id = p_caller.user_id and namespace = p_caller.namespace
    and scope_tenant = '' and scope_user = '' and scope_thread = '' and scope_kind = '';
  if v_profile is null then
    return '';
  end if;
  return loom._user_profile_body(v_profile, p_format, p_language);
end
$$;
comment on function loom._user_profile_rendered(loom.caller, text, text) is
  'The profile of the caller''s user, of no scope, as part of a prompt (xml, or text for any other format); empty where there is none. A pure function of the profile''s content.';
