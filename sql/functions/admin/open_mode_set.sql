create or replace function loom.open_mode_set(p_seconds integer) returns timestamptz
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_now timestamptz := loom._now();
  v_expires timestamptz;
begin
  if p_seconds is null or p_seconds not between 1 and 60 then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_seconds', 'reason', 'must be a whole number from 1 to 60')::text,
      hint = 'Open mode lasts at most a minute and is renewed while the launcher lives.';
  end if;
  v_expires := v_now + make_interval(secs => p_seconds);
  perform from loom.open_mode where expires_at > v_now;
  if not found then
    perform set_config('loom.org', '-', true);
    perform loom._audit('-', 'operator:' || session_user, v_now, 'open_mode.on', '{}');
  end if;
  insert into loom.open_mode (expires_at) values (v_expires)
  on conflict (singleton) do update set expires_at = excluded.expires_at;
  return v_expires;
end
$$;
comment on function loom.open_mode_set(integer) is
'Switches open mode on, or renews it, for at most 60 seconds: requests without a token then act as admin. For the migration login alone; switching it on is audited.';
