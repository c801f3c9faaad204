create or replace function loom._open_grant(p_at timestamptz) returns jsonb
language plpgsql stable
as $$
begin
  perform from loom.open_mode where expires_at > p_at;
  if not found then
    raise exception using errcode = 'LM301', message = 'The request carries no valid token.',
      hint = 'Send Authorization: Bearer with a token that is neither expired nor revoked.';
  end if;
  return jsonb_build_object('actor', 'open', 'role', 'admin', 'default_org', 'dev', 'default_namespace', 'local');
end
$$;
comment on function loom._open_grant(timestamptz) is
  'What a request without a token may do: everything while open mode is on, else LM301.';
