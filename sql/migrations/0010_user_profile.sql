-- The incremental user profile: what a user's own messages tell of them, one row a user and scope.

-- A scope keeps profiles of one user apart (by tenant, person, thread or kind); empty where it does not.
create type loom.profile_scope as (
  tenant text collate "C",
  person text collate "C",
  thread text collate "C",
  kind text collate "C"
);
comment on type loom.profile_scope is
  'Which of a user''s profiles is meant: the four parts of a scope, empty where one is not set. person is the scope''s own user.';

create table loom.user_profile (
  org loom.identifier not null,
  namespace loom.identifier not null,
  user_id loom.identifier not null,
  -- Columns, never one joined key: no two scopes and ids can meet in one row.
  scope_tenant loom.identifier not null,
  scope_user loom.identifier not null,
  scope_thread loom.identifier not null,
  scope_kind loom.identifier not null,
  profile_id uuid not null default gen_random_uuid(),
  -- {facts, traits, preferences, summary}; null in a tombstone.
  profile jsonb,
  -- What a client's own library calls its document, as it gave it; null once anything else was written.
  document text collate "C",
  -- One more with each change, except where user_profile.put names its own.
  version bigint not null,
  -- Counts what was recorded, whatever the version says: the order of the history.
  revision bigint not null,
  source text collate "C" not null,
  created_at timestamptz not null,
  created_by text collate "C" not null,
  updated_at timestamptz not null,
  updated_by text collate "C" not null,
  deleted_at timestamptz,
  constraint user_profile_pkey
    primary key (org, user_id, namespace, scope_tenant, scope_user, scope_thread, scope_kind),
  constraint user_profile_id_key unique (org, profile_id),
  constraint user_profile_version_range check (version >= 0 and revision > 0),
  constraint user_profile_tombstone_is_empty check (
    (deleted_at is null) = (profile is not null) and (deleted_at is null or document is null)
  )
) with (fillfactor = 70);
comment on table loom.user_profile is 'The newest version of each user profile: one row a user and scope, live or tombstone.';

create table loom.user_profile_version (
  org text collate "C" not null,
  profile_id uuid not null,
  revision bigint not null,
  namespace text collate "C" not null,
  user_id text collate "C" not null,
  version bigint not null,
  change text collate "C" not null,
  profile jsonb,
  source text collate "C" not null,
  recorded_at timestamptz not null,
  actor text collate "C" not null,
  constraint user_profile_version_pkey primary key (org, profile_id, revision),
  constraint user_profile_version_change_known check (change in ('update', 'apply', 'put', 'reset', 'delete'))
);
comment on table loom.user_profile_version is 'Every version of every user profile, until the user is erased.';
create index user_profile_version_user_idx on loom.user_profile_version (org, user_id);

create table loom.user_profile_signal (
  org text collate "C" not null,
  user_id loom.identifier not null,
  namespace loom.identifier not null,
  scope_tenant loom.identifier not null,
  scope_user loom.identifier not null,
  scope_thread loom.identifier not null,
  scope_kind loom.identifier not null,
  signal_id loom.identifier not null,
  taken_at timestamptz not null,
  constraint user_profile_signal_pkey primary key
    (org, user_id, namespace, scope_tenant, scope_user, scope_thread, scope_kind, signal_id)
);
comment on table loom.user_profile_signal is
  'Ids of the signals that were merged or are queued, so that each is merged once; a reset or a deletion does not forget them.';

create table loom.user_profile_task (
  org text collate "C" not null,
  task_id uuid not null default gen_random_uuid(),
  namespace loom.identifier not null,
  user_id loom.identifier not null,
  scope_tenant loom.identifier not null,
  scope_user loom.identifier not null,
  scope_thread loom.identifier not null,
  scope_kind loom.identifier not null,
  source text collate "C" not null,
  -- The user's own words, in their order; gone once they were refused.
  signals jsonb not null,
  -- Tasks of one profile are done in this order.
  place bigint not null,
  queued_at timestamptz not null,
  actor text collate "C" not null,
  -- When a worker may take it; null once it was refused for good.
  due_at timestamptz,
  attempts integer not null default 0,
  last_error text collate "C",
  lease_id uuid,
  leased_until timestamptz,
  constraint user_profile_task_pkey primary key (org, task_id),
  constraint user_profile_task_source_known check (source in ('llm', 'composite')),
  constraint user_profile_task_lease_whole check ((lease_id is null) = (leased_until is null))
) with (fillfactor = 70);
comment on table loom.user_profile_task is
  'Signals that wait for a model: one row an update with source llm or composite, removed when it was merged.';
create unique index user_profile_task_place_key on loom.user_profile_task
  (org, user_id, namespace, scope_tenant, scope_user, scope_thread, scope_kind, place);
create unique index user_profile_task_lease_key on loom.user_profile_task (org, lease_id) where lease_id is not null;
-- The scheduler's too, from org to org.
create index user_profile_task_due_idx on loom.user_profile_task (org, due_at) where due_at is not null;

create table loom.profile_word (
  kind text collate "C" not null,
  language text collate "C" not null,
  word text collate "C" not null,
  constraint profile_word_pkey primary key (word, kind, language),
  constraint profile_word_kind_known check (kind in ('common', 'casual', 'formal', 'role', 'technology', 'no_name'))
);
comment on table loom.profile_word is 'Words by which the rules of user profiles judge language, formality, roles and technologies.';

create table loom.profile_pattern (
  place integer not null,
  fact_key text collate "C" not null,
  -- Every text that matches holds this, in lower case: a look that costs little comes first.
  holds text collate "C" not null,
  pattern text not null,
  constraint profile_pattern_pkey primary key (place)
);
comment on table loom.profile_pattern is
  'What a user says of themselves, as patterns: the first group is empty, or a word by which it is no statement; the second is the fact''s value.';

create table loom.section_header (
  section text collate "C" not null,
  language text collate "C" not null,
  header text not null,
  constraint section_header_pkey primary key (section, language)
);
comment on table loom.section_header is 'Headers of rendered sections by language; English where a language has none.';

alter table loom.user_profile enable row level security;
alter table loom.user_profile_version enable row level security;
alter table loom.user_profile_signal enable row level security;
alter table loom.user_profile_task enable row level security;
alter table loom.profile_word enable row level security;
alter table loom.profile_pattern enable row level security;
alter table loom.section_header enable row level security;
create policy user_profile_of_org on loom.user_profile to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy user_profile_version_of_org on loom.user_profile_version to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy user_profile_signal_of_org on loom.user_profile_signal to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy user_profile_task_of_org on loom.user_profile_task to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy profile_word_data on loom.profile_word to loom_api using (true);
create policy profile_pattern_data on loom.profile_pattern to loom_api using (true);
create policy section_header_data on loom.section_header to loom_api using (true);
-- Where there is work, the scheduler says, across orgs.
create policy user_profile_task_scheduling on loom.user_profile_task for select to loom_scheduler using (true);

-- For operators, as the views before: ids, codes and numbers of every org, and no text of a user.
create view loom.v_user_profile_tasks as
select org::text, namespace::text, user_id::text, source::text, jsonb_array_length(signals) as signals, queued_at, due_at,
  attempts, last_error::text, leased_until
from loom.user_profile_task;
comment on view loom.v_user_profile_tasks is
  'What waits for a model to learn from: whose, since when, when a worker may take it, after how many failed attempts, and the code of the last error. Without due_at it was refused for good, and its signals are gone.';

