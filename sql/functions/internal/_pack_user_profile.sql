create or replace function loom._pack_user_profile(p_caller loom.caller, p_plan loom.pack_plan)
returns loom.pack_item[]
language plpgsql volatile
set search_path = loom, pg_temp
as $$
declare
  v_body text := loom._user_profile_rendered(p_caller, case p_plan.format when 'xml' then 'xml' else 'text' end, p_plan.language);
begin
  if v_body = '' then
    return '{}';
  end if;
  return array[row(v_body, jsonb_build_object('user_id', p_caller.user_id, 'content_sha256', loom._sha256(v_body)))
    ::loom.pack_item];
end
$$;
comment on function loom._pack_user_profile(loom.caller, loom.pack_plan) is
  'The profile that grew from what the caller''s user said, as one item; none where it is empty.';
