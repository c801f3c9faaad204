create or replace function loom.blacklist_remove(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('blacklist.remove', p_request);
  v_id uuid := loom._uuid(p_request, 'blacklist_id', true);
  v_namespace text;
  v_found boolean;
begin
  if loom._choice(p_request, 'scope', '{namespace,org}') is not null then
    v_namespace := loom._blacklist_namespace(v_caller, p_request);
  else
    -- The id alone says which scope; who may not change that scope does not find it.
    select namespace into v_namespace from loom.blacklist
    where org = v_caller.org and blacklist_id = v_id
      and (v_caller.bound_namespace is null or namespace = v_caller.bound_namespace)
      and (namespace in ('', v_caller.namespace) or loom._text(p_request, 'namespace') is null);
    if not found then
      return jsonb_build_object('blacklist_id', v_id, 'found', false);
    end if;
  end if;
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
'Removes a pattern. Its id says which scope it stands in, within the caller''s bounds and the namespace, where one is named.

Request: blacklist_id*, scope (namespace or org: only there).
Returns: blacklist_id, found.
Errors: LM001, LM003, LM302.';
