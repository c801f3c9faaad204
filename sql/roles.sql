-- Loom's roles. They belong to the whole cluster, so this script first looks at the catalog and
-- changes only what differs; it may run any number of times, against any database of the cluster.
-- The applier runs it before the migrations. Where the migration login may not create roles, someone
-- who may runs it once (psql -f roles.sql) and then grants that login what its last lines say.
do $$
declare
  v_wanted record;
  v_role pg_catalog.pg_roles;
  v_setting text;
  v_may_act boolean;
begin
  -- The *_timeout settings hold for whoever logs in as the role itself; a group role does not pass
  -- its settings on to its members. A value that an operator has set is kept.
  for v_wanted in
    select * from (values
      ('loom_owner', 'owner', array[]::text[]),
      ('loom_api', 'owner', array[]::text[]),
      ('loom_scheduler', 'owner', array[]::text[]),
      ('loom_search', 'owner', array[]::text[]),
      ('loom_gateway', 'login', array['statement_timeout=15s', 'lock_timeout=5s', 'idle_in_transaction_session_timeout=15s']),
      ('loom_worker', 'login', array['statement_timeout=60s', 'lock_timeout=5s', 'idle_in_transaction_session_timeout=60s']),
      ('loom_viewer', 'group', array['statement_timeout=30s', 'lock_timeout=5s', 'idle_in_transaction_session_timeout=60s']),
      ('loom_writer', 'group', array['statement_timeout=30s', 'lock_timeout=5s', 'idle_in_transaction_session_timeout=60s']),
      ('loom_admin', 'group', array['statement_timeout=30s', 'lock_timeout=5s', 'idle_in_transaction_session_timeout=60s']),
      ('loom_operator', 'group', array['statement_timeout=60s', 'lock_timeout=5s', 'idle_in_transaction_session_timeout=60s'])
    ) as wanted (name, kind, settings)
  loop
    select * into v_role from pg_catalog.pg_roles where rolname = v_wanted.name;
    if v_role.rolname is null then
      execute format('create role %I %s', v_wanted.name,
        case v_wanted.kind when 'login' then 'login' else 'nologin' end);
      raise notice 'role % made', v_wanted.name;
      select * into v_role from pg_catalog.pg_roles where rolname = v_wanted.name;
    end if;
    if v_role.rolsuper or v_role.rolbypassrls or v_role.rolreplication then
      raise exception using errcode = 'insufficient_privilege',
        message = format('role %s may bypass row-level security', v_wanted.name),
        hint = format('alter role %I nosuperuser nobypassrls noreplication', v_wanted.name);
    end if;
    if v_wanted.kind = 'login' and not v_role.rolcanlogin then
      execute format('alter role %I login', v_wanted.name);
      raise notice 'role % may log in', v_wanted.name;
    elsif v_wanted.kind = 'owner' and v_role.rolcanlogin then
      execute format('alter role %I nologin', v_wanted.name);
      raise notice 'role % may no longer log in', v_wanted.name;
    end if;
    foreach v_setting in array v_wanted.settings loop
      if not exists (
        select from unnest(v_role.rolconfig) as present
        where split_part(present, '=', 1) = split_part(v_setting, '=', 1)
      ) then
        execute format('alter role %I set %I = %L', v_wanted.name,
          split_part(v_setting, '=', 1), split_part(v_setting, '=', 2));
        raise notice 'role % has %', v_wanted.name, v_setting;
      end if;
    end loop;
    if v_wanted.kind <> 'owner'
      and not has_database_privilege(v_wanted.name, current_database(), 'connect') then
      execute format('grant connect on database %I to %I', current_database(), v_wanted.name);
      raise notice 'role % may connect', v_wanted.name;
    end if;
  end loop;

  -- What the API's login says of its callers is believed, because it may call nothing else.
  select member.rolname || ' is a member of ' || granted.rolname as name into v_wanted
  from pg_catalog.pg_auth_members as m
  join pg_catalog.pg_roles as member on member.oid = m.member
  join pg_catalog.pg_roles as granted on granted.oid = m.roleid
  where member.rolname in ('loom_gateway', 'loom_worker') and granted.rolname ^@ 'loom_'
  limit 1;
  if found then
    raise exception using errcode = 'insufficient_privilege', message = v_wanted.name,
      hint = 'revoke that membership: the logins of API and worker have rights of their own only';
  end if;

  -- The login that migrates is a member of loom_owner for good: an operator is told by that. It acts
  -- as the other three owners only while it applies functions, and borrows them for that moment. For
  -- a login that may not grant, another grants it all four:
  --   grant loom_owner, loom_api, loom_scheduler, loom_search to <login>;
  -- A membership of PostgreSQL 16 or newer says apart whether it lets one act as the role.
  v_may_act := pg_has_role(current_user, 'loom_owner', 'usage');
  if v_may_act and current_setting('server_version_num')::integer >= 160000 then
    v_may_act := pg_has_role(current_user, 'loom_owner', 'set');
  end if;
  if not v_may_act then
    execute format('grant loom_owner to %I %s', current_user,
      case when current_setting('server_version_num')::integer >= 160000
        then 'with inherit true, set true' else '' end);
    raise notice 'role % is a member of loom_owner', current_user;
  end if;
end
$$;
