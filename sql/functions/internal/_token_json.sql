create or replace function loom._token_json(p_token loom.token) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object(
    'token_id', p_token.token_id, 'org', p_token.org, 'label', p_token.label, 'role', p_token.role,
    'namespace', p_token.namespace, 'read_user_id', p_token.read_user_id, 'session_id', p_token.session_id,
    'created_at', loom._ts(p_token.created_at), 'created_by', p_token.created_by,
    'expires_at', loom._ts(p_token.expires_at), 'revoked_at', loom._ts(p_token.revoked_at),
    'last_used_at', loom._ts(p_token.last_used_at));
end
$$;
comment on function loom._token_json(loom.token) is 'A token as the wire shows it: everything but its secret.';
