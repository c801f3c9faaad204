create or replace function loom.blacklist_remove(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('blacklist.remove', p_request);
  v_id uuid := loom._uuid(p_request, 'blacklist_id', true);
  v_namespace text := loom._blacklist_namespace(v_caller, p_request);
  v_found boolean;
begin
  perform pg_advisory_xact_lock(hashtextextended(v_namespace, hashtextextended(v_caller.org, 2)));
  delete from loom.blacklist where org = v_caller.org and namespace = v_namespace and blacklist_id = v_id
  returning true into v_found;
  if v_found then
    perform loom._blacklist_compile(v_caller.org, v_namespace);
    perform loom._audit(v_caller.org, v_caller.actor, v_caller.called_at, 'blacklist.remove',
      jsonb_build_object('blacklist_id', v_id));
  end if;
  return jsonb_build_object('blacklist_id', v_id, 'found', coalesce(v_found, false));
end
$$;
comment on function loom.blacklist_remove(jsonb) is
'Removes a pattern from its scope.

Request: blacklist_id*, scope (namespace, the default, or org).
Returns: blacklist_id, found.
Errors: LM001, LM003, LM302.';
