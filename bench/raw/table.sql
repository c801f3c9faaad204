-- What somebody would make who wants working memory without Loom: the same columns, key, index and
-- fill factor, with version, length and hash kept by the statements that write.
create schema bench;
create table bench.block (
  org text collate "C" not null,
  namespace text collate "C" not null,
  agent text collate "C" not null,
  user_id text collate "C" not null,
  session_id text collate "C" not null default '-',
  run_id text collate "C" not null default '-',
  block_key text collate "C" not null,
  content text collate "C",
  char_limit integer not null default 4096,
  description text collate "C",
  read_only boolean not null default false,
  version bigint not null,
  value_length integer not null,
  content_sha256 text collate "C" not null,
  created_at timestamptz not null default now(),
  created_by text collate "C" not null default session_user,
  updated_at timestamptz not null default now(),
  updated_by text collate "C" not null default session_user,
  deleted_at timestamptz,
  primary key (org, namespace, agent, user_id, session_id, run_id, block_key)
) with (fillfactor = 70);
create index on bench.block (org, user_id);
