create or replace function loom._pack_user_profile(p_caller loom.caller, p_plan loom.pack_plan)
returns loom.pack_offer
language plpgsql volatile
as $$
declare
  v_body text := loom._user_profile_rendered(p_caller, p_plan.format, p_plan.language);
begin
  if v_body = '' then
    return null;
  end if;
  return row(array[v_body], array[jsonb_build_object('user_id', p_caller.user_id, 'content_sha256', loom._sha256(v_body))])
    ::loom.pack_offer;
end
$$;
comment on function loom._pack_user_profile(loom.caller, loom.pack_plan) is
  'The profile that grew from what the caller''s user said, as one item; none where it is empty.';
