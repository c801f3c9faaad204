create or replace function loom.audit_list(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('audit.list', p_request);
  v_limit integer := coalesce(loom._integer(p_request, 'limit', 1, 200), 50);
  v_action text := loom._bounded_text(p_request, 'action', 100);
  v_cursor text[] := loom._time_cursor(p_request);
  v_at timestamptz := v_cursor[1]::timestamptz;
  v_id uuid := v_cursor[2]::uuid;
  v_items jsonb;
begin
  perform loom._org_wide(v_caller);
  select jsonb_agg(jsonb_build_object('audit_id', audit_id, 'at', loom._ts(at), 'actor', actor,
      'action', action, 'subject', subject) order by at desc, audit_id desc) into v_items
  from (
    select * from loom.audit
    where org = v_caller.org and (at, audit_id) < (v_at, v_id) and (v_action is null or action = v_action)
    order by at desc, audit_id desc
    limit v_limit + 1
  ) as page;
  return loom._time_page(v_items - v_limit, jsonb_array_length(v_items) > v_limit, 'at', 'audit_id');
end
$$;
comment on function loom.audit_list(jsonb) is
'What was done in the org that an auditor asks for, newest first: tokens, service bindings, locks, pins, blacklists, redactions, erasures, model switches, open mode. No values.

Request: action (only these), limit (1 to 200, default 50), cursor.
Returns: items [{audit_id, at, actor, action, subject}], next_cursor.
Errors: LM001, LM003, LM302, also for a token bound to a namespace.';
