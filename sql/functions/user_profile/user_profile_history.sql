create or replace function loom.user_profile_history(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('user_profile.history', p_request);
  v_row loom.user_profile := loom._user_profile_find(v_caller, loom._user_profile_scope(v_caller, p_request));
  v_as_of bigint := loom._integer(p_request, 'as_of_version', 0, 9007199254740991);
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 200), 50);
  v_before bigint := loom._version_cursor(p_request);
  v_items jsonb;
  v_more boolean;
begin
  if v_as_of is not null then
    v_before := least(v_before, coalesce((loom._user_profile_then(v_row, v_as_of)).revision + 1, 0));
  end if;
  select jsonb_agg(loom._user_profile_version_json(listed) order by place)
      filter (where place <= v_limit and before < 1000000),
    bool_or(place > v_limit or before >= 1000000)
  into v_items, v_more
  from (
    -- A page ends early after a million characters.
    select listed, row_number() over newest as place,
      sum(coalesce(char_length(listed.profile::text), 0)) over newest - coalesce(char_length(listed.profile::text), 0) as before
    from loom._user_profile_page(v_row, v_before, v_limit + 1) as listed
    window newest as (order by listed.revision desc)
  ) as page;
  return jsonb_build_object('found', v_row.profile_id is not null, 'items', coalesce(v_items, '[]'),
    'next_cursor', case when v_more then v_items -> -1 ->> 'revision' end);
end
$$;
comment on function loom.user_profile_history(jsonb) is
'The versions of a user''s profile, newest first, resets and deletions among them. They stay until the user is erased.

Request: user_id* (or the token''s pinned user), as_of_version (this one and those before), scope {tenant, user, thread, kind}, limit (1 to 200, default 50), cursor.
Returns: found, items [{version, version_text, revision (counts what was recorded), change (update, apply, put, reset, delete), profile (null in a tombstone), source, recorded_at, actor}], next_cursor.
Errors: LM001, LM003, LM302, LM406.';
