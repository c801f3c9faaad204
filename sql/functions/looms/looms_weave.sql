create or replace function loom.looms_weave(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.weave', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_dry_run boolean := coalesce(loom._boolean(p_request, 'dryRun'), false);
  v_org text := v_caller.org;
  v_loom loom.loom;
  v_weaving loom.loom_weaving;
begin
  perform loom._loom_unpinned(v_caller);
  v_loom := loom._loom_locked(v_caller, v_loom_id);
  -- One that waits already does what this one would.
  select * into v_weaving from loom.loom_weaving
  where org = v_org and loom_id = v_loom_id and dry_run = v_dry_run and state = 'queued';
  if not found then
    insert into loom.loom_weaving (org, namespace, loom_id, cause, dry_run, state, requested_at, requested_by)
    values (v_org, v_loom.namespace, v_loom_id, 'request', v_dry_run, 'queued', v_caller.called_at, v_caller.actor)
    returning * into v_weaving;
    perform loom._ring();
  end if;
  return jsonb_build_object('entity', loom._weaving_json(v_weaving));
end
$$;
comment on function loom.looms_weave(jsonb) is
'Asks for a loom to be woven now, whatever its settings and its quiet period say. A worker does it; looms.weaving_get tells how it went. A dry run shows what would be changed and changes nothing. Not for a token that is pinned to a user.

Request: loomId*, dryRun (false by default).
Returns: entity (the weaving, queued; one that waits already is answered again).
Errors: LM001, LM003, LM103, LM302, LM406.';
