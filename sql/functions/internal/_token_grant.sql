create or replace function loom._token_grant(p_org_id uuid, p_secret_sha256 bytea, p_at timestamptz)
returns jsonb
language plpgsql volatile
as $$
declare
  v_org text;
  v_token loom.token;
begin
  select name into v_org from loom.org where org_id = p_org_id;
  v_org := set_config('loom.org', coalesce(v_org, ''), true);
  select * into v_token from loom.token where org = v_org and secret_sha256 = p_secret_sha256;
  if v_token.token_id is null or v_token.revoked_at is not null or v_token.expires_at <= p_at then
    raise exception using errcode = 'LM301', message = 'The request carries no valid token.',
      hint = 'Send Authorization: Bearer with a token that is neither expired nor revoked.';
  end if;
  return jsonb_build_object('actor', 'token:' || v_token.token_id, 'role', v_token.role, 'org', v_org,
    'namespace', v_token.namespace, 'user_id', v_token.read_user_id, 'session_id', v_token.session_id,
    'touch', case when v_token.last_used_at > p_at - interval '1 minute' then null else v_token.token_id end);
end
$$;
comment on function loom._token_grant(uuid, bytea, timestamptz) is
  'What the token with this secret may do, looked up inside the org that its text names; `touch` is its id when its last use is to be stamped. LM301 when there is no such live token.';
