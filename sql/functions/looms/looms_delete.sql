create or replace function loom.looms_delete(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.delete', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_org text := v_caller.org;
  v_threads bigint;
begin
  perform loom._loom_unpinned(v_caller);
  perform loom._loom_locked(v_caller, v_loom_id);
  select count(*) into v_threads from loom.loom_thread where org = v_org and loom_id = v_loom_id and deleted_at is null;
  delete from loom.loom where org = v_org and loom_id = v_loom_id;
  perform loom._audit(v_org, v_caller.actor, v_caller.called_at, 'looms.delete',
    jsonb_build_object('loomId', v_loom_id, 'threads', v_threads));
  return jsonb_build_object('id', v_loom_id, 'threads', v_threads);
end
$$;
comment on function loom.looms_delete(jsonb) is
'Removes a loom for good, with its threads, turns and weavings. Audited. Looms that were seeded from it keep what they have. Not for a token that is pinned to a user.

Request: loomId*.
Returns: id, threads (how many live ones it had).
Errors: LM001, LM003, LM103, LM302, LM406.';
