create or replace function loom._user_profile_queue(
  p_caller loom.caller, p_row loom.user_profile, p_source text, p_own text[]
) returns void
language plpgsql volatile
as $$
declare
  -- Behind the lock, so that the order of the queue is that of the commits.
  v_at timestamptz := loom._now();
begin
  insert into loom.user_profile_task (org, namespace, user_id, scope_tenant, scope_user, scope_thread, scope_kind,
    source, signals, queued_at, place, actor, due_at)
  select p_row.org, p_row.namespace, p_row.user_id, p_row.scope_tenant, p_row.scope_user, p_row.scope_thread,
    p_row.scope_kind, p_source, to_jsonb(p_own), v_at, coalesce(max(place), 0) + 1, p_caller.actor, v_at
  from loom.user_profile_task
  where org = p_row.org and user_id = p_row.user_id and namespace = p_row.namespace
    and scope_tenant = p_row.scope_tenant and scope_user = p_row.scope_user
    and scope_thread = p_row.scope_thread and scope_kind = p_row.scope_kind;
  perform loom._ring();
end
$$;
comment on function loom._user_profile_queue(loom.caller, loom.user_profile, text, text[]) is
  'Queues a user''s own signals for the worker, behind the profile''s lock.';
