-- The same for facts and profile sections: the newest row of each key, and every version.
create table bench.memory (
  org text collate "C" not null,
  namespace text collate "C" not null,
  agent text collate "C" not null,
  user_id text collate "C" not null,
  session_id text collate "C" not null default '-',
  memory_key text collate "C" not null,
  memory_id uuid not null default gen_random_uuid(),
  memory_type text collate "C" not null,
  value jsonb,
  content_sha256 text collate "C",
  value_length integer,
  char_limit integer not null default 262144,
  tags text[] collate "C" not null default '{}',
  confidence numeric(4, 3) not null default 1,
  source_class text collate "C" not null default 'stated',
  source_trace text collate "C",
  valid_at timestamptz,
  valid_to timestamptz,
  expires_at timestamptz,
  pinned boolean not null default false,
  version bigint not null,
  recorded_at timestamptz not null default now(),
  author text collate "C" not null default session_user,
  created_at timestamptz not null default now(),
  created_by text collate "C" not null default session_user,
  deleted_at timestamptz,
  primary key (org, namespace, memory_key, user_id, session_id, agent),
  unique (org, memory_id)
) with (fillfactor = 70);
create index on bench.memory (org, user_id, namespace, created_at, memory_id);
create index on bench.memory (org, namespace, created_at, memory_id);
create index on bench.memory (org, namespace, user_id, memory_key) where memory_type = 'profile';
create table bench.memory_version (
  org text collate "C" not null,
  memory_id uuid not null,
  version bigint not null,
  namespace text collate "C" not null,
  user_id text collate "C" not null,
  value jsonb,
  content_sha256 text collate "C",
  value_length integer,
  tags text[] collate "C" not null,
  confidence numeric(4, 3) not null,
  source_class text collate "C" not null,
  recorded_at timestamptz not null,
  author text collate "C" not null,
  primary key (org, memory_id, version)
);
create index on bench.memory_version (org, user_id);
