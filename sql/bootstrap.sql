-- Run by the applier on a database that has no Loom yet, in one transaction, before the first
-- migration: the schema, and the two tables in which the applier keeps what it has done.
-- A schema that someone with more rights has made for loom_owner is taken as it is.
do $$
begin
  if to_regnamespace('loom') is null then
    create schema loom authorization loom_owner;
  end if;
end
$$;
comment on schema loom is 'Loom, memory for AI agents. Everything of it is in this schema.';

set local role loom_owner;

create table loom.migration (
  name text collate "C" not null,
  sha256 text collate "C" not null,
  applied_at timestamptz not null default now(),
  constraint migration_pkey primary key (name)
);
comment on table loom.migration is 'The migrations applied to this database, with the SHA-256 of the text that ran.';

create table loom.functions_digest (
  single boolean not null default true,
  sha256 text collate "C" not null,
  applied_at timestamptz not null,
  constraint functions_digest_pkey primary key (single),
  constraint functions_digest_single check (single)
);
comment on table loom.functions_digest is 'One row: the digest of the functions, operations and grants now in force.';

-- As all tables of Loom: a right to read that slipped in shows nothing. loom.health reads them.
alter table loom.migration enable row level security;
alter table loom.functions_digest enable row level security;
create policy migration_registry on loom.migration for select to loom_api using (true);
create policy functions_digest_registry on loom.functions_digest for select to loom_api using (true);

set local role none;
