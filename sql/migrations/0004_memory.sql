-- Memory: facts with versions, and profile sections, which are rows of type profile.

-- The reach of a read: null means all. Filled by loom._reach for operations that take read_scope.
alter type loom.caller add attribute users text[];
alter type loom.caller add attribute sessions text[];

alter table loom.operation add column user_lock text collate "C" not null default 'shared'
  constraint operation_user_lock_known check (user_lock in ('shared', 'exclusive'));
comment on column loom.operation.user_lock is 'How a write locks its user: shared, and exclusive for an erasure.';

alter table loom.operation add column namespace_needed boolean not null default true;
comment on column loom.operation.namespace_needed is 'False where an operation can also mean the whole org.';

create domain loom.memory_key as text collate "C"
  constraint memory_key_size check (char_length(value) between 1 and 200 and octet_length(value) <= 256);
create domain loom.memory_type as text collate "C" constraint memory_type_known
  check (value in ('semantic', 'episodic', 'procedural', 'preference', 'decision', 'profile'));
create domain loom.source_class as text collate "C" constraint source_class_known
  check (value in ('stated', 'observed', 'imported', 'derived'));
create domain loom.sensitivity as text collate "C" constraint sensitivity_known
  check (value in ('low', 'normal', 'high'));
create domain loom.lock_mode as text collate "C" constraint lock_mode_known
  check (value in ('read_only', 'no_delete'));
create domain loom.confidence as numeric(4, 3) constraint confidence_range check (value between 0 and 1);
create domain loom.value_limit as integer constraint value_limit_range check (value between 1 and 262144);

create table loom.memory (
  org loom.identifier not null,
  namespace loom.identifier not null,
  agent loom.identifier not null,
  user_id loom.identifier not null,
  session_id loom.identifier not null,
  memory_key loom.memory_key not null,
  memory_id uuid not null default gen_random_uuid(),
  memory_type loom.memory_type not null,
  -- Null with its hash and length in a tombstone and in a redacted row.
  value jsonb,
  content_sha256 text collate "C",
  value_length integer,
  char_limit loom.value_limit not null,
  tags text[] collate "C" not null default '{}',
  confidence loom.confidence not null default 1,
  source_class loom.source_class not null,
  source_trace text collate "C",
  valid_at timestamptz,
  valid_to timestamptz,
  expires_at timestamptz,
  pinned boolean not null default false,
  sensitivity loom.sensitivity not null default 'normal',
  lock_mode loom.lock_mode,
  lock_reason text collate "C",
  lock_until timestamptz,
  reinforcement_count integer not null default 0,
  version bigint not null,
  -- When this version was recorded; rises strictly along a key.
  recorded_at timestamptz not null,
  -- When what it says last changed or was said again: what a reader orders facts by.
  changed_at timestamptz not null,
  -- What the row adds to its user's source digest; null when it is not a source.
  source_part bit(128),
  -- Who wrote the value, and who made this version of the row.
  author text collate "C" not null,
  actor text collate "C" not null,
  created_at timestamptz not null,
  created_by text collate "C" not null,
  deleted_at timestamptz,
  redacted_at timestamptz,
  -- In the order in which the nearest row of a key is looked for.
  constraint memory_pkey primary key (org, namespace, memory_key, user_id, session_id, agent),
  constraint memory_id_key unique (org, memory_id),
  constraint memory_version_range check (version > 0),
  constraint memory_value_fits check (value_length <= char_limit),
  constraint memory_gone_is_empty check (
    (deleted_at is null and redacted_at is null)
      = (value is not null and content_sha256 is not null and value_length is not null)
  )
) with (fillfactor = 70);
comment on table loom.memory is 'The newest version of each key: one row a key, live, tombstone or redacted.';

-- A user's rows: lists, newest first, and an erasure with its census; all rows of a namespace; twins of
-- a value. Every row meets the conditions, but a statement uses the index only if it says the same: with
-- many orgs and users the planner takes any prefix of an identity for one row, and a look-up by key
-- would as well go by these and read all that its user has.
create index memory_list_idx on loom.memory (org, user_id, namespace, created_at, memory_id)
  where version > 0;
create index memory_list_all_idx on loom.memory (org, namespace, created_at, memory_id)
  where version > 0;
create index memory_twin_idx on loom.memory
  (org, namespace, agent, user_id, session_id, memory_type, content_sha256, created_at, memory_id)
  where content_sha256 is not null;
-- Sections are always loaded: they are found without walking a user's facts.
create index memory_profile_idx on loom.memory (org, namespace, user_id, memory_key)
  where memory_type = 'profile';
-- Housekeeping, across orgs.
create index memory_deleted_idx on loom.memory (deleted_at) where deleted_at is not null;
create index memory_expiry_idx on loom.memory (expires_at) where expires_at is not null;

create table loom.memory_version (
  org text collate "C" not null,
  memory_id uuid not null,
  version bigint not null,
  namespace text collate "C" not null,
  user_id text collate "C" not null,
  change text collate "C" not null,
  -- The version that holds the value: this one, or an earlier one where only metadata changed.
  value_version bigint,
  value jsonb,
  content_sha256 text collate "C",
  value_length integer,
  char_limit integer not null,
  memory_type text collate "C" not null,
  tags text[] collate "C" not null,
  confidence numeric(4, 3) not null,
  source_class text collate "C" not null,
  source_trace text collate "C",
  valid_at timestamptz,
  valid_to timestamptz,
  expires_at timestamptz,
  pinned boolean not null,
  sensitivity text collate "C" not null,
  lock_mode text collate "C",
  lock_reason text collate "C",
  lock_until timestamptz,
  recorded_at timestamptz not null,
  changed_at timestamptz not null,
  author text collate "C" not null,
  actor text collate "C" not null,
  deleted_at timestamptz,
  redacted_at timestamptz,
  constraint memory_version_pkey primary key (org, memory_id, version),
  constraint memory_version_change_known check (change in
    ('set', 'append', 'replace', 'delete', 'restore', 'revert', 'lock', 'unlock', 'pin', 'unpin', 'label', 'redact'))
);
comment on table loom.memory_version is
  'Every version of every row. The value stands once: a version that changed metadata only points at the one that holds it.';
create index memory_version_user_idx on loom.memory_version (org, user_id);

-- Which facts a worker-written version was made from, so that a redaction finds what speaks of them.
create table loom.memory_source (
  org text collate "C" not null,
  source_id uuid not null,
  memory_id uuid not null,
  version bigint not null,
  namespace text collate "C" not null,
  user_id text collate "C" not null,
  constraint memory_source_pkey primary key (org, source_id, memory_id, version)
);
comment on table loom.memory_source is 'From which rows a version written by the worker was made.';
create index memory_source_user_idx on loom.memory_source (org, user_id);

-- User - has no state row, since everyone shares it: writers of its rows lock one row an agent.
create table loom.agent_lock (
  org text collate "C" not null,
  namespace text collate "C" not null,
  agent text collate "C" not null,
  rev bigint not null default 0,
  constraint agent_lock_pkey primary key (org, namespace, agent)
) with (fillfactor = 70);
comment on table loom.agent_lock is 'The row that writers of rows of user - lock, one per agent.';

create table loom.blacklist (
  org text collate "C" not null,
  blacklist_id uuid not null default gen_random_uuid(),
  -- Empty for the whole org.
  namespace text collate "C" not null,
  pattern text not null,
  pattern_type text collate "C" not null,
  reason text,
  created_at timestamptz not null,
  created_by text collate "C" not null,
  constraint blacklist_pkey primary key (org, namespace, blacklist_id),
  constraint blacklist_type_known check (pattern_type in ('substring', 'regex'))
);
comment on table loom.blacklist is 'What must not be stored, by org or by namespace (empty: the org).';

create table loom.blacklist_scope (
  org text collate "C" not null,
  namespace text collate "C" not null,
  alternation text not null,
  constraint blacklist_scope_pkey primary key (org, namespace)
);
comment on table loom.blacklist_scope is
  'The patterns of a scope as one regular expression: the server keeps few compiled ones, and only a hit asks which it was.';

create table loom.attribute_word (
  attribute text collate "C" not null,
  language text collate "C" not null,
  word text collate "C" not null,
  constraint attribute_word_pkey primary key (word, attribute, language)
);
comment on table loom.attribute_word is 'Words that speak of protected attributes, by language, in lower case.';
create table loom.setting (
  name text collate "C" not null,
  value text collate "C" not null,
  constraint setting_pkey primary key (name)
);
comment on table loom.setting is 'Settings of the installation that functions heed, as the applier found them in its environment.';

create table loom.profile_activity (
  org text collate "C" not null,
  namespace text collate "C" not null,
  user_id text collate "C" not null,
  label text collate "C" not null,
  client text collate "C" not null,
  agent text collate "C" not null,
  day date not null,
  reads bigint not null,
  last_at timestamptz not null,
  constraint profile_activity_pkey primary key (org, namespace, day, user_id, label, client, agent)
) with (fillfactor = 70);
comment on table loom.profile_activity is 'Reads of profile sections: one row per client, section and day.';
create index profile_activity_user_idx on loom.profile_activity (org, user_id);

create table loom.org_setting (
  org text collate "C" not null,
  model_calls boolean not null default true,
  updated_at timestamptz not null,
  updated_by text collate "C" not null,
  constraint org_setting_pkey primary key (org)
);
comment on table loom.org_setting is 'What an org''s admin switched; no row means the defaults.';

-- Where a user's rows are: erasure and census go through this list, and nothing else knows it.
create table loom.erasure_plane (
  place integer not null,
  plane text collate "C" not null,
  table_name name not null,
  condition text not null,
  by_namespace boolean not null default true,
  counted boolean not null default true,
  constraint erasure_plane_pkey primary key (place)
);
comment on table loom.erasure_plane is
  'Planes of a user''s rows: name in the answer, table, which of its rows ($1 org, $2 user, $3 namespaces), whether it has a namespace column, whether its rows count.';

alter table loom.memory enable row level security;
alter table loom.memory_version enable row level security;
alter table loom.memory_source enable row level security;
alter table loom.agent_lock enable row level security;
alter table loom.blacklist enable row level security;
alter table loom.blacklist_scope enable row level security;
alter table loom.attribute_word enable row level security;
alter table loom.profile_activity enable row level security;
alter table loom.org_setting enable row level security;
alter table loom.erasure_plane enable row level security;
create policy memory_of_org on loom.memory to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy memory_version_of_org on loom.memory_version to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy memory_source_of_org on loom.memory_source to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy agent_lock_of_org on loom.agent_lock to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy blacklist_of_org on loom.blacklist to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy blacklist_scope_of_org on loom.blacklist_scope to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy attribute_word_data on loom.attribute_word to loom_api using (true);
alter table loom.setting enable row level security;
create policy setting_rows on loom.setting to loom_api using (true) with check (true);
create policy profile_activity_of_org on loom.profile_activity to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy org_setting_of_org on loom.org_setting to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy erasure_plane_list on loom.erasure_plane to loom_api using (true);
-- Housekeeping looks across orgs.
create policy memory_housekeeping on loom.memory to loom_scheduler using (true);
create policy memory_version_housekeeping on loom.memory_version to loom_scheduler using (true);
create policy memory_source_housekeeping on loom.memory_source to loom_scheduler using (true);
create policy user_state_housekeeping on loom.user_state to loom_scheduler using (true);
create policy agent_lock_housekeeping on loom.agent_lock to loom_scheduler using (true);

-- What a list asks for; the position is that of the last row of the page before.
create type loom.memory_filter as (
  memory_type text collate "C",
  tags text[] collate "C",
  memory_key text collate "C",
  key_prefix text collate "C",
  source_class text collate "C",
  include_deleted boolean,
  after_at timestamptz,
  after_id uuid
);
comment on type loom.memory_filter is 'Conditions and position of a list of memory rows.';

create type loom.answer_place as (
  user_id text collate "C",
  namespace text collate "C"
);
comment on type loom.answer_place is 'Whose data a stored answer speaks of, and in which namespace.';

create type loom.section_read as (
  user_id text collate "C",
  label text collate "C",
  reads bigint
);
comment on type loom.section_read is 'How often the API served a section since it last said so.';
