create or replace function loom._token_touch(p_org text, p_token_id uuid, p_at timestamptz) returns void
language plpgsql volatile
as $$
declare
  v_before timestamptz := p_at - interval '1 minute';
begin
  -- Skips a row that another request is stamping: the stamp is worth no wait.
  perform from loom.token
  where org = p_org and token_id = p_token_id and (last_used_at is null or last_used_at < v_before)
  for update skip locked;
  if found then
    update loom.token set last_used_at = p_at where org = p_org and token_id = p_token_id;
  end if;
end
$$;
comment on function loom._token_touch(text, uuid, timestamptz) is
  'Stamps a token''s last use, at most once a minute, so that reads stay reads.';
