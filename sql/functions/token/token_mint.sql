create or replace function loom.token_mint(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('token.mint', p_request);
  v_token loom.token;
  v_secret text := replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
  v_ttl integer := loom._integer(p_request, 'ttl_seconds', 1, 315360000);
  v_org_id uuid;
begin
  v_token.org := v_caller.org;
  v_token.role := loom._choice(p_request, 'role', '{viewer,writer,admin}');
  v_token.namespace := coalesce(loom._identifier(p_request, 'namespace'), v_caller.bound_namespace);
  v_token.read_user_id := loom._identifier(p_request, 'read_user_id');
  v_token.session_id := loom._identifier(p_request, 'session_id');
  v_token.label := loom._identifier(p_request, 'label');
  perform loom._token_check(v_token, v_caller);
  v_org_id := loom._ensure_org(v_caller.org, v_caller.actor, v_caller.called_at);
  insert into loom.token (org, secret_sha256, label, role, namespace, read_user_id, session_id,
    created_at, created_by, expires_at)
  values (v_token.org, sha256(convert_to(v_secret, 'UTF8')), v_token.label, v_token.role, v_token.namespace,
    v_token.read_user_id, v_token.session_id, v_caller.called_at, v_caller.actor,
    v_caller.called_at + make_interval(secs => v_ttl))
  returning * into v_token;
  perform loom._audit(v_caller.org, v_caller.actor, v_caller.called_at, 'token.mint',
    jsonb_build_object('token_id', v_token.token_id, 'role', v_token.role));
  return loom._token_json(v_token)
    || jsonb_build_object('token', format('loom_%s_%s', replace(v_org_id::text, '-', ''), v_secret));
end
$$;
comment on function loom.token_mint(jsonb) is
'Makes an access token within the caller''s own bounds. The secret is in this answer and nowhere else: only its SHA-256 is kept. Audited.

Request: role* (viewer, writer, admin), namespace (a bound; none means every namespace of the org), read_user_id (pins it to an end user), session_id (bounds a pinned token to one session), label (1 to 200 characters), ttl_seconds (1 to 315360000; none means it does not expire).
Returns: token, token_id, org, role, namespace, read_user_id, session_id, label, created_at, created_by, expires_at, revoked_at, last_used_at.
Errors: LM001, LM302 beyond the caller''s bounds, LM406.';
