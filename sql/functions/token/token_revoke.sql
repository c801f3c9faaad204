create or replace function loom.token_revoke(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('token.revoke', p_request);
  v_org text := v_caller.org;
  v_bound text := v_caller.bound_namespace;
  v_token_id uuid := loom._uuid(p_request, 'token_id', true);
  v_token loom.token;
begin
  select * into v_token from loom.token
  where org = v_org and token_id = v_token_id and (v_bound is null or namespace = v_bound)
  for update;
  if found and v_token.revoked_at is null then
    update loom.token set revoked_at = v_caller.called_at, revoked_by = v_caller.actor
    where org = v_org and token_id = v_token_id
    returning * into v_token;
    perform loom._audit(v_org, v_caller.actor, v_caller.called_at, 'token.revoke',
      jsonb_build_object('token_id', v_token_id));
  end if;
  return jsonb_build_object('token_id', v_token_id, 'found', v_token.token_id is not null,
    'revoked_at', loom._ts(v_token.revoked_at));
end
$$;
comment on function loom.token_revoke(jsonb) is
'Ends a token at once; revoking it again changes nothing. Audited.

Request: token_id*.
Returns: token_id, found (false when the org, or the caller''s namespace, has no such token), revoked_at.
Errors: LM001, LM302.';
