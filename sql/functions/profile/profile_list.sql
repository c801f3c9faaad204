create or replace function loom.profile_list(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('profile.list', p_request);
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 200), 50);
  v_filter loom.memory_filter := loom._memory_filter(p_request);
  v_items jsonb;
begin
  v_filter.memory_type := 'profile';
  v_filter.memory_key := loom._identifier(p_request, 'label');
  select jsonb_agg(loom._section_item(listed)
    order by listed.created_at desc, listed.memory_id desc) into v_items
  from loom._memory_page(v_caller, v_filter, v_limit + 1) as listed;
  return loom._time_page(v_items - v_limit, jsonb_array_length(v_items) > v_limit, 'created_at', 'memory_id');
end
$$;
comment on function loom.profile_list(jsonb) is
'The sections in reach, newest first, without their values.

Request: label (only sections with it), read_scope (own_user, own_session, namespace), limit (1 to 200, default 50), cursor.
Returns: items [{label, org, namespace, agent, user_id, session_id, memory_id, version, version_text, content_sha256, value_length, char_limit, fill_ratio, created_at, updated_at}], next_cursor.
Errors: LM001, LM003, LM302, LM406.';
