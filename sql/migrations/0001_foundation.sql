-- The foundation: the registry of orgs and namespaces, who may call what, and what has been done.
-- Tables belong to loom_owner. Operations run as loom_api, which owns no table, so every policy
-- below binds them. A table with an `org` column is visible to loom_api alone, and only for the
-- org that loom._enter has put into the transaction-local setting `loom.org`.

-- Immutable helper of stored columns: the hex SHA-256 of a text's UTF-8 bytes.
create function loom._sha256(p_text text) returns text
language plpgsql immutable strict parallel safe
set search_path = loom, pg_temp
as $$
begin
  return encode(sha256(convert_to(p_text, 'UTF8')), 'hex');
end
$$;
comment on function loom._sha256(text) is
  'Hex SHA-256 of the UTF-8 bytes of a text. The database is UTF8 (the applier refuses another encoding), so it is immutable.';

-- Rules of single values that stand in busy tables. Domains, since a CHECK of a table is parsed and
-- run by every update of a row, and a domain only where its column is written.
create domain loom.identifier as text collate "C"
  constraint identifier_size check (octet_length(value) <= 256);
comment on domain loom.identifier is 'An id or key: at most 256 bytes, so that a key of several always fits an index.';

-- uuid <-> name, and nothing else: the one registry that is readable before an org is entered.
create table loom.org (
  org_id uuid not null default gen_random_uuid(),
  name text collate "C" not null,
  created_at timestamptz not null,
  created_by text collate "C" not null,
  constraint org_pkey primary key (org_id),
  constraint org_name_key unique (name),
  constraint org_name_size check (char_length(name) between 1 and 200 and octet_length(name) <= 256),
  constraint org_name_is_set check (name not in ('-', '*'))
);
comment on table loom.org is 'Orgs: uuid and name. Readable before an org is entered, because a token names its org by uuid.';

create table loom.namespace (
  org text collate "C" not null,
  name text collate "C" not null,
  namespace_id uuid not null default gen_random_uuid(),
  night_weaving boolean,
  quiet_minutes integer,
  weaver_model text collate "C",
  text_search_language text collate "C" not null default 'simple',
  created_at timestamptz not null,
  created_by text collate "C" not null,
  updated_at timestamptz not null,
  updated_by text collate "C" not null,
  constraint namespace_pkey primary key (org, name),
  constraint namespace_id_key unique (org, namespace_id),
  constraint namespace_name_size check (char_length(name) between 1 and 200 and octet_length(name) <= 256),
  constraint namespace_name_is_set check (name <> '-'),
  constraint namespace_quiet_minutes_range check (quiet_minutes between 0 and 1440)
);
comment on table loom.namespace is 'Namespaces of an org with their defaults. A namespace comes into being with its first write.';

-- Reference data: sql/operations.sql writes it, always together with the functions it names.
create table loom.operation (
  op text collate "C" not null,
  function_name name not null,
  role text collate "C" not null,
  mode text collate "C" not null,
  identity text[] collate "C" not null,
  fields text[] collate "C" not null,
  accepted text[] collate "C" not null generated always as (identity || fields) stored,
  takes_namespace boolean not null generated always as ('namespace' = any (identity)) stored,
  takes_agent boolean not null generated always as ('agent' = any (identity)) stored,
  takes_user boolean not null generated always as ('user_id' = any (identity)) stored,
  takes_session boolean not null generated always as ('session_id' = any (identity)) stored,
  takes_run boolean not null generated always as ('run_id' = any (identity)) stored,
  constraint operation_pkey primary key (op),
  constraint operation_role_known check (role in ('viewer', 'writer', 'admin')),
  constraint operation_mode_known check (mode in ('read', 'write'))
);
comment on table loom.operation is
  'What can be called: wire name, function, least role, whether it writes, the identity fields and the own fields of its request.';

create table loom.error_code (
  sqlstate text collate "C" not null,
  code text collate "C" not null,
  http_status integer not null,
  category text collate "C" not null,
  retryable boolean not null,
  constraint error_code_pkey primary key (sqlstate),
  constraint error_code_code_key unique (code),
  constraint error_code_sqlstate_class check (sqlstate ~ '^LM[0-5][0-9][0-9]$')
);
comment on table loom.error_code is 'The LM errors: SQLSTATE, code, HTTP status, category, whether trying again can help.';

create table loom.token (
  org text collate "C" not null,
  token_id uuid not null default gen_random_uuid(),
  secret_sha256 bytea not null,
  label text collate "C",
  role text collate "C" not null,
  namespace text collate "C",
  read_user_id text collate "C",
  session_id text collate "C",
  created_at timestamptz not null,
  created_by text collate "C" not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  revoked_by text collate "C",
  last_used_at timestamptz,
  constraint token_pkey primary key (org, token_id),
  constraint token_secret_key unique (org, secret_sha256),
  constraint token_secret_is_a_hash check (octet_length(secret_sha256) = 32),
  constraint token_role_known check (role in ('viewer', 'writer', 'admin')),
  constraint token_pinned_is_no_admin check (read_user_id is null or role <> 'admin'),
  constraint token_session_needs_user check (session_id is null or read_user_id is not null),
  constraint token_user_is_set check (read_user_id <> '-'),
  constraint token_session_is_set check (session_id <> '-'),
  constraint token_namespace_is_set check (namespace <> '-')
) with (fillfactor = 80);
comment on table loom.token is 'Access tokens: only the SHA-256 of the secret, with role, bounds, expiry and revocation.';

-- Keyed by oid and name: a role dropped and made again under the same name is another role.
create table loom.service_binding (
  org text collate "C" not null,
  role_oid oid not null,
  role_name name not null,
  bound_at timestamptz not null,
  bound_by text collate "C" not null,
  constraint service_binding_pkey primary key (org, role_oid)
);
comment on table loom.service_binding is 'Which database roles may call operations for which org; org * means every org.';

create table loom.open_mode (
  singleton boolean not null default true,
  expires_at timestamptz not null,
  constraint open_mode_pkey primary key (singleton),
  constraint open_mode_single check (singleton)
);
comment on table loom.open_mode is 'One row while open mode is on: requests of the gateway without a token act as admin until it expires.';

create table loom.audit (
  org text collate "C" not null,
  audit_id uuid not null default gen_random_uuid(),
  at timestamptz not null,
  actor text collate "C" not null,
  action text collate "C" not null,
  subject jsonb not null,
  constraint audit_pkey primary key (org, at, audit_id)
);
comment on table loom.audit is
  'Append-only record of administrative acts, without values. Acts that concern no single org stand under org -.';

-- One row per user: what later planes lock and count by. The epoch rises with each erasure, so that
-- a write derived from what was there before is refused.
create table loom.user_state (
  org text collate "C" not null,
  namespace text collate "C" not null,
  user_id text collate "C" not null,
  epoch bigint not null default 0,
  rev bigint not null default 0,
  created_at timestamptz not null,
  constraint user_state_pkey primary key (org, namespace, user_id)
) with (fillfactor = 70);
create index user_state_user_idx on loom.user_state (org, user_id);
comment on table loom.user_state is 'Per namespace and user: erasure epoch and revision; the row that writers of a user lock.';

create table loom.worker (
  worker_id uuid not null,
  started_at timestamptz not null,
  last_seen_at timestamptz not null,
  constraint worker_pkey primary key (worker_id)
) with (fillfactor = 70);
comment on table loom.worker is 'Heartbeats of running workers.';

-- Who is calling and what it may reach: the answer of loom._enter, used by every operation.
create type loom.caller as (
  actor text,
  is_admin boolean,
  org text,
  namespace text,
  agent text,
  user_id text,
  session_id text,
  run_id text,
  bound_namespace text,
  bound_user text,
  bound_session text,
  called_at timestamptz
);
comment on type loom.caller is 'Checked identity of a request: actor, resolved identity, the bounds of its token, the time of the call.';

alter table loom.org enable row level security;
alter table loom.namespace enable row level security;
alter table loom.token enable row level security;
alter table loom.service_binding enable row level security;
alter table loom.audit enable row level security;
alter table loom.user_state enable row level security;

create policy org_registry on loom.org to loom_api using (true) with check (true);
create policy namespace_of_org on loom.namespace to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy token_of_org on loom.token to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy service_binding_of_org on loom.service_binding to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
-- What is bound to every org is seen in each, and changed in none.
create policy service_binding_of_all on loom.service_binding for select to loom_api
  using (org = '*' and current_setting('loom.org', true) <> '');
create policy audit_of_org on loom.audit to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy user_state_of_org on loom.user_state to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));

-- No org in these, but no business of a client either.
alter table loom.operation enable row level security;
alter table loom.error_code enable row level security;
alter table loom.open_mode enable row level security;
alter table loom.worker enable row level security;
create policy operation_registry on loom.operation to loom_api using (true);
create policy error_code_registry on loom.error_code to loom_api using (true);
create policy open_mode_row on loom.open_mode to loom_api using (true) with check (true);
create policy worker_rows on loom.worker to loom_api using (true) with check (true);
