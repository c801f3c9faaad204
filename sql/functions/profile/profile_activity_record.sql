create or replace function loom.profile_activity_record(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile.activity_record', p_request);
  v_reads loom.section_read[] := loom._section_reads(p_request);
  v_client text := loom._client_name(v_caller);
  v_day date := (v_caller.called_at at time zone 'UTC')::date;
  v_recorded bigint;
begin
  perform pg_advisory_xact_lock_shared(loom._user_lock_key(v_caller.org, user_id))
  from (select distinct user_id from unnest(v_reads) order by user_id) as reader;
  -- A section erased since it was read is not brought back by the record of the read.
  insert into loom.profile_activity as known
    (org, namespace, user_id, label, client, agent, day, reads, last_at)
  select v_caller.org, v_caller.namespace, read.user_id, read.label, v_client, v_caller.agent, v_day,
    sum(read.reads), v_caller.called_at
  from unnest(v_reads) as read
  where (v_caller.bound_user is null or read.user_id in (v_caller.bound_user, '-')) and exists (
    select from loom.memory as section
    where section.org = v_caller.org and section.namespace = v_caller.namespace
      and section.memory_type = 'profile' and section.user_id = read.user_id
      and section.memory_key = read.label)
  group by read.user_id, read.label
  order by read.user_id, read.label
  on conflict (org, namespace, day, user_id, label, client, agent) do update
    set reads = known.reads + excluded.reads, last_at = excluded.last_at;
  get diagnostics v_recorded = row_count;
  return jsonb_build_object('recorded', v_recorded);
end
$$;
comment on function loom.profile_activity_record(jsonb) is
'Records reads of profile sections that the API has buffered; for the API alone, which calls it with the reader''s own token.

Request: reads* [{user_id*, label*, reads*}], 1000 at most.
Returns: recorded (rows).
Errors: LM001, LM003, LM302 for any caller but the API.';
