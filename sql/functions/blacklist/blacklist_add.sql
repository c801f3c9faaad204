create or replace function loom.blacklist_add(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('blacklist.add', p_request);
  v_entry loom.blacklist;
begin
  v_entry.org := v_caller.org;
  v_entry.namespace := loom._blacklist_namespace(v_caller, p_request);
  v_entry.pattern := loom._pattern(p_request);
  v_entry.pattern_type := coalesce(loom._choice(p_request, 'pattern_type', '{substring,regex}'), 'substring');
  v_entry.reason := loom._bounded_text(p_request, 'reason', 500);
  if v_entry.pattern_type = 'regex' then
    perform loom._pattern_check(v_entry.pattern);
  end if;
  perform pg_advisory_xact_lock(hashtextextended(v_entry.namespace, hashtextextended(v_caller.org, 2)));
  if (select count(*) >= 100 from loom.blacklist
      where org = v_caller.org and namespace = v_entry.namespace) then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'patterns', 'limit', 100, 'value', 101)::text,
      hint = 'Remove a pattern of this scope first.';
  end if;
  insert into loom.blacklist (org, namespace, pattern, pattern_type, reason, created_at, created_by)
  values (v_entry.org, v_entry.namespace, v_entry.pattern, v_entry.pattern_type, v_entry.reason,
    v_caller.called_at, v_caller.actor)
  returning * into v_entry;
  perform loom._blacklist_compile(v_entry.org, v_entry.namespace);
  perform loom._audit(v_caller.org, v_caller.actor, v_caller.called_at, 'blacklist.add',
    jsonb_build_object('blacklist_id', v_entry.blacklist_id, 'pattern_type', v_entry.pattern_type));
  return loom._blacklist_json(v_entry);
end
$$;
comment on function loom.blacklist_add(jsonb) is
'Names what must not be stored: a write whose text, keys or tags match is refused, whatever their case, a worker''s too. What is stored already stays.

Request: pattern* (200 characters at most), pattern_type (substring, the default, or regex), scope (namespace, the default, or org), reason (500 characters at most; told to whom is refused).
Returns: blacklist_id, org, scope, namespace, pattern, pattern_type, reason, created_at, created_by.
Errors: LM001, LM003, LM302, LM406 for a pattern that does not compile or could run away, and over 100 patterns a scope.';
