create or replace function loom._user_profile_taken(p_row loom.user_profile, p_ids text[], p_at timestamptz, p_dry_run boolean)
returns text[]
language plpgsql volatile
as $$
declare
  v_known text[];
begin
  if p_ids = '{}' then
    return p_ids;
  end if;
  select coalesce(array_agg(signal_id::text), '{}') into v_known from loom.user_profile_signal
  where org = p_row.org and user_id = p_row.user_id and namespace = p_row.namespace
    and scope_tenant = p_row.scope_tenant and scope_user = p_row.scope_user
    and scope_thread = p_row.scope_thread and scope_kind = p_row.scope_kind and signal_id = any (p_ids);
  if not p_dry_run then
    insert into loom.user_profile_signal
    select p_row.org, p_row.user_id, p_row.namespace, p_row.scope_tenant, p_row.scope_user, p_row.scope_thread,
      p_row.scope_kind, fresh, p_at
    from (select distinct id as fresh from unnest(p_ids) as id where id <> all (v_known)) as told;
  end if;
  return v_known;
end
$$;
comment on function loom._user_profile_taken(loom.user_profile, text[], timestamptz, boolean) is
  'Which of these signals a locked profile has had before; the others are noted as taken now, unless it is a dry run.';
