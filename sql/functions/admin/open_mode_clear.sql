create or replace function loom.open_mode_clear() returns boolean
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_was_on boolean;
begin
  delete from loom.open_mode returning expires_at > loom._now() into v_was_on;
  if v_was_on then
    perform set_config('loom.org', '-', true);
    perform loom._audit('-', 'operator:' || session_user, loom._now(), 'open_mode.off', '{}');
  end if;
  return coalesce(v_was_on, false);
end
$$;
comment on function loom.open_mode_clear() is
'Switches open mode off; true when it was on. For the migration login alone.';
