create or replace function loom.erasure_request(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('erasure.request', p_request);
  v_namespaces text[] := loom._erasure_namespaces(v_caller, p_request);
  v_removed jsonb := '{"working_memory": 0, "memory": 0, "memory_version": 0, "profile": 0,
    "structured_profile": 0, "user_profile": 0, "loom_thread": 0, "embedding": 0, "work": 0,
    "activity": 0, "idempotency": 0}';
  v_plane loom.erasure_plane;
  v_count bigint;
begin
  -- An older snapshot would not show what was committed since: neither the deletions nor the census.
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', null, 'reason', 'needs a transaction that is READ COMMITTED')::text,
      hint = 'Erase in a transaction of its own, at the isolation level READ COMMITTED.';
  end if;
  -- First, so that what was derived from before is refused as soon as this commits.
  update loom.user_state set epoch = epoch + 1, rev = rev + 1
  where org = v_caller.org and user_id = v_caller.user_id
    and (v_namespaces is null or namespace = any (v_namespaces));
  for v_plane in select * from loom.erasure_plane order by place loop
    if v_plane.plane = 'idempotency' then
      -- Stored answers that may speak of anyone: none of them half written while they are looked through.
      perform pg_advisory_xact_lock(loom._user_lock_key(v_caller.org, '*'));
    end if;
    v_count := loom._erase(v_plane, v_caller, v_namespaces);
    v_removed := v_removed || jsonb_build_object(v_plane.plane,
      (v_removed ->> v_plane.plane)::bigint + case when v_plane.counted then v_count else 0 end);
  end loop;
  perform loom._census(v_caller, v_namespaces);
  perform loom._audit(v_caller.org, v_caller.actor, v_caller.called_at, 'erasure.request',
    jsonb_build_object('removed', v_removed, 'namespaces', to_jsonb(v_namespaces)));
  return jsonb_build_object('user_id', v_caller.user_id, 'namespaces', to_jsonb(v_namespaces),
    'removed', v_removed);
end
$$;
comment on function loom.erasure_request(jsonb) is
'Removes everything of a user, in every plane, in one transaction that holds the user''s lock exclusively: no write is half seen, and one that comes later is new data. Locks and pins do not stop it. A census ends the transaction if anything is left. Asked again it removes nothing. Audited without the user''s id.

Request: user_id*, namespaces (only these; all of the org when left out).
Returns: user_id, namespaces, removed {rows by plane: working_memory, memory, memory_version, profile, structured_profile, user_profile, loom_thread, embedding, work, activity, idempotency}.
Errors: LM001, LM003, LM302 for a caller that is neither an admin within its bounds nor a token pinned to this user, LM406, LM502 the census found a row.';
