create or replace function loom.looms_weaving_revert(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('looms.weaving_revert', p_request);
  v_loom_id uuid := loom._uuid(p_request, 'loomId', true);
  v_weaving_id uuid := loom._uuid(p_request, 'weavingId', true);
  v_org text := v_caller.org;
  v_weaving loom.loom_weaving;
  v_loom loom.loom;
  v_change loom.loom_weaving_change;
begin
  perform loom._loom_unpinned(v_caller);
  perform loom._weaving_named(loom._loom_in_reach(v_caller, v_loom_id), v_weaving_id);
  -- What is restored is written under its users: their locks first.
  perform pg_advisory_xact_lock_shared(loom._user_lock_key(v_org, user_id))
  from (select distinct user_id from loom.loom_weaving_change
    where org = v_org and weaving_id = v_weaving_id order by user_id) as named;
  v_loom := loom._loom_locked(v_caller, v_loom_id);
  v_caller.namespace := v_loom.namespace;
  v_weaving := loom._weaving_named(v_loom, v_weaving_id);
  if v_weaving.state in ('queued', 'running') or v_weaving.dry_run then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'weavingId', 'reason', 'has changed nothing')::text,
      hint = 'A weaving that has ended and was no dry run can be taken back.';
  end if;
  for v_change in
    select * from loom.loom_weaving_change
    where org = v_org and weaving_id = v_weaving_id and not reverted order by place
  loop
    perform loom._thread_revert(v_caller, v_change);
  end loop;
  update loom.loom_weaving
  set reverted_at = coalesce(reverted_at, v_caller.called_at), reverted_by = coalesce(reverted_by, v_caller.actor)
  where org = v_org and weaving_id = v_weaving_id
  returning * into v_weaving;
  return jsonb_build_object('entity', loom._weaving_json(v_weaving), 'reverted', (
    select count(*) from loom.loom_weaving_change where org = v_org and weaving_id = v_weaving_id and reverted), 'kept', (
    select count(*) from loom.loom_weaving_change where org = v_org and weaving_id = v_weaving_id and not reverted));
end
$$;
comment on function loom.looms_weaving_revert(jsonb) is
'Takes a weaving back: each thread has the very text, tags and origins again that it had before, as a new version; what was added is deleted. A thread that has changed since stays as it is, and nothing that was erased, or is blacklisted by now, comes back. Not for a token that is pinned to a user.

Request: loomId*, weavingId*.
Returns: entity (the weaving), reverted (how many of its changes are taken back), kept (how many are not).
Errors: LM001, LM003, LM103, LM105, LM302, LM406.';
