-- Looms: named long-term memories that agents weave across conversations, their threads with all former
-- versions, the turns that night weaving reads, and what each weaving changed.

-- Looms say userId where the other planes say user_id: one identity, and either name of its field.
alter table loom.operation
  drop column takes_user,
  add column user_field text collate "C" generated always as (
    case when 'user_id' = any (identity) then 'user_id' when 'userId' = any (identity) then 'userId' end) stored,
  add column takes_user boolean not null generated always as (
    'user_id' = any (identity) or 'userId' = any (identity)) stored;

create table loom.loom (
  org text collate "C" not null,
  namespace text collate "C" not null,
  loom_id uuid not null default gen_random_uuid(),
  name text collate "C" not null,
  description text,
  -- Which one it is of those that an interaction's scope makes, or the run that it was made for.
  scope_key text collate "C",
  process_id uuid,
  seed_from_loom_id uuid,
  seeded_at timestamptz,
  -- Null: as its namespace says, and where that says nothing, the installation.
  night_weaving boolean,
  quiet_minutes integer,
  weaver_model text collate "C",
  last_woven_at timestamptz,
  last_activity_at timestamptz,
  last_activity_process_id uuid,
  -- What the run behind last_activity_at said of its model: the name of its credentials, never a secret.
  activity_credentials text collate "C",
  activity_model text collate "C",
  last_night_weaving_at timestamptz,
  night_weaving_pending boolean not null default false,
  night_weaving_not_before timestamptz,
  attempts integer not null default 0,
  lease_id uuid,
  leased_until timestamptz,
  created_at timestamptz not null,
  created_by text collate "C" not null,
  updated_at timestamptz not null,
  updated_by text collate "C" not null,
  constraint loom_pkey primary key (org, loom_id),
  constraint loom_name_key unique (org, namespace, name),
  constraint loom_name_size check (char_length(name) between 1 and 200 and octet_length(name) <= 256),
  constraint loom_scope_key_size check (char_length(scope_key) <= 200 and octet_length(scope_key) <= 256),
  constraint loom_made_for_one check (scope_key is null or process_id is null),
  constraint loom_quiet_minutes_range check (quiet_minutes between 0 and 1440),
  constraint loom_lease_whole check ((lease_id is null) = (leased_until is null))
) with (fillfactor = 70);
comment on table loom.loom is 'Looms: named long-term memories, with their settings and where their night weaving stands.';
create unique index loom_scope_key on loom.loom (org, namespace, scope_key) where scope_key is not null;
create unique index loom_process_key on loom.loom (org, namespace, process_id) where process_id is not null;
-- What is due: looms that say for themselves whether or when, and those that leave it to their namespace. A
-- wait stands in the index too, so that those who wait cost no look at their rows.
create index loom_due_own_idx on loom.loom (org, last_activity_at, coalesce(night_weaving_not_before, '-infinity'))
  where night_weaving_pending and (night_weaving or (night_weaving is null and quiet_minutes is not null));
create index loom_due_inherited_idx on loom.loom
  (org, namespace, last_activity_at, coalesce(night_weaving_not_before, '-infinity'))
  where night_weaving_pending and night_weaving is null and quiet_minutes is null;
-- Dead leases.
create index loom_lease_idx on loom.loom (leased_until) where lease_id is not null;
create unique index loom_lease_key on loom.loom (org, lease_id) where lease_id is not null;
create index loom_list_idx on loom.loom (org, namespace, created_at, loom_id);

create table loom.loom_thread (
  org text collate "C" not null,
  namespace text collate "C" not null,
  loom_id uuid not null,
  thread_id uuid not null default gen_random_uuid(),
  user_id loom.identifier not null,
  -- `-` where the thread is shared by all agents of the loom.
  agent loom.identifier not null,
  text text not null,
  tags text[] collate "C" not null default '{}',
  woven_from uuid[] not null default '{}',
  version bigint not null default 1,
  -- The weaving that made this version; null: a caller.
  weaving_id uuid,
  created_at timestamptz not null,
  created_by text collate "C" not null,
  updated_at timestamptz not null,
  updated_by text collate "C" not null,
  deleted_at timestamptz,
  constraint loom_thread_pkey primary key (org, thread_id),
  constraint loom_thread_loom_fkey foreign key (org, loom_id) references loom.loom (org, loom_id) on delete cascade,
  constraint loom_thread_text_size check (char_length(text) between 1 and 16384)
) with (fillfactor = 80);
comment on table loom.loom_thread is 'Threads of looms as they stand; a deleted or retired one is a tombstone.';
create index loom_thread_list_idx on loom.loom_thread (org, loom_id, created_at, thread_id);
-- What one user is told, however many others weave into the loom.
create index loom_thread_told_idx on loom.loom_thread (org, loom_id, user_id, created_at, thread_id) where deleted_at is null;
create index loom_thread_user_idx on loom.loom_thread (org, user_id, namespace);
create index loom_thread_deleted_idx on loom.loom_thread (deleted_at) where deleted_at is not null;

create table loom.loom_thread_version (
  org text collate "C" not null,
  namespace text collate "C" not null,
  loom_id uuid not null,
  thread_id uuid not null,
  version bigint not null,
  user_id loom.identifier not null,
  text text not null,
  tags text[] collate "C" not null,
  woven_from uuid[] not null,
  weaving_id uuid,
  deleted_at timestamptz,
  recorded_at timestamptz not null,
  actor text collate "C" not null,
  constraint loom_thread_version_pkey primary key (org, thread_id, version),
  constraint loom_thread_version_fkey foreign key (org, thread_id)
    references loom.loom_thread (org, thread_id) on delete cascade
);
comment on table loom.loom_thread_version is 'What threads were before their last change, version by version.';
create index loom_thread_version_user_idx on loom.loom_thread_version (org, user_id, namespace);

create table loom.loom_turn (
  org text collate "C" not null,
  namespace text collate "C" not null,
  loom_id uuid not null,
  turn_id uuid not null default gen_random_uuid(),
  user_id loom.identifier not null,
  agent loom.identifier not null,
  process_id uuid,
  text text not null,
  at timestamptz not null,
  actor text collate "C" not null,
  -- The weaving that has consolidated it.
  woven_by uuid,
  constraint loom_turn_pkey primary key (org, turn_id),
  constraint loom_turn_loom_fkey foreign key (org, loom_id) references loom.loom (org, loom_id) on delete cascade,
  constraint loom_turn_text_size check (char_length(text) between 1 and 16384)
) with (fillfactor = 80);
comment on table loom.loom_turn is 'What agents did with a loom bound, until a night weaving has consolidated it and for two weeks after.';
create index loom_turn_pending_idx on loom.loom_turn (org, loom_id, at, turn_id) where woven_by is null;
create index loom_turn_loom_idx on loom.loom_turn (org, loom_id);
create index loom_turn_user_idx on loom.loom_turn (org, user_id, namespace);
create index loom_turn_woven_idx on loom.loom_turn (at) where woven_by is not null;

create table loom.loom_weaving (
  org text collate "C" not null,
  namespace text collate "C" not null,
  loom_id uuid not null,
  weaving_id uuid not null default gen_random_uuid(),
  -- night: its time had come; request: somebody asked.
  cause text collate "C" not null,
  dry_run boolean not null,
  state text collate "C" not null,
  requested_at timestamptz not null,
  requested_by text collate "C" not null,
  started_at timestamptz,
  ended_at timestamptz,
  -- A code, where it failed.
  error text collate "C",
  -- The run whose credentials it used, and the model.
  process_id uuid,
  model text collate "C",
  prompt_tokens bigint not null default 0,
  completion_tokens bigint not null default 0,
  added integer not null default 0,
  revised integer not null default 0,
  retired integer not null default 0,
  -- Operations of the model that were not carried out.
  dropped integer not null default 0,
  reverted_at timestamptz,
  reverted_by text collate "C",
  constraint loom_weaving_pkey primary key (org, weaving_id),
  constraint loom_weaving_loom_fkey foreign key (org, loom_id) references loom.loom (org, loom_id) on delete cascade,
  constraint loom_weaving_cause_known check (cause in ('night', 'request')),
  constraint loom_weaving_state_known check (state in ('queued', 'running', 'done', 'failed'))
) with (fillfactor = 70);
comment on table loom.loom_weaving is 'Weavings of looms: why, when, by which model, how they ended and how much they changed.';
create index loom_weaving_list_idx on loom.loom_weaving (org, loom_id, requested_at, weaving_id);
create unique index loom_weaving_queued_key on loom.loom_weaving (org, loom_id, dry_run) where state = 'queued';
create index loom_weaving_ended_idx on loom.loom_weaving (ended_at) where ended_at is not null;
-- The scheduler's, org by org: what has been asked for.
create index loom_weaving_queued_idx on loom.loom_weaving (org, requested_at) where state = 'queued';

create table loom.loom_weaving_part (
  org text collate "C" not null,
  namespace text collate "C" not null,
  weaving_id uuid not null,
  user_id loom.identifier not null,
  -- `-` for the shared threads. An agent's own threads are woven apart, so that what they say cannot
  -- become shared, whatever a model answers.
  agent loom.identifier not null,
  turn_ids uuid[] not null,
  -- By number, as the model is told them.
  thread_ids uuid[] not null,
  versions bigint[] not null,
  read_at timestamptz not null,
  constraint loom_weaving_part_pkey primary key (org, weaving_id, user_id, agent),
  constraint loom_weaving_part_fkey foreign key (org, weaving_id)
    references loom.loom_weaving (org, weaving_id) on delete cascade
);
comment on table loom.loom_weaving_part is
  'What a weaving has read of one user: an answer holds good for just that, and for nobody who was erased meanwhile.';
create index loom_weaving_part_user_idx on loom.loom_weaving_part (org, user_id, namespace);

create table loom.loom_weaving_change (
  org text collate "C" not null,
  namespace text collate "C" not null,
  weaving_id uuid not null,
  place integer not null,
  user_id loom.identifier not null,
  action text collate "C" not null,
  -- Null where a dry run would add one.
  thread_id uuid,
  agent text collate "C" not null,
  -- What stood there before, and what the weaving made of it; the latter null in a dry run.
  from_version bigint,
  to_version bigint,
  text text,
  reason text,
  reverted boolean not null default false,
  constraint loom_weaving_change_pkey primary key (org, weaving_id, place),
  constraint loom_weaving_change_fkey foreign key (org, weaving_id)
    references loom.loom_weaving (org, weaving_id) on delete cascade,
  constraint loom_weaving_change_action_known check (action in ('add', 'revise', 'retire'))
);
comment on table loom.loom_weaving_change is 'What a weaving did to each thread, so that it can be shown and taken back.';
create index loom_weaving_change_user_idx on loom.loom_weaving_change (org, user_id, namespace);

alter table loom.loom enable row level security;
alter table loom.loom_thread enable row level security;
alter table loom.loom_thread_version enable row level security;
alter table loom.loom_turn enable row level security;
alter table loom.loom_weaving enable row level security;
alter table loom.loom_weaving_part enable row level security;
alter table loom.loom_weaving_change enable row level security;
create policy loom_of_org on loom.loom to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy loom_thread_of_org on loom.loom_thread to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy loom_thread_version_of_org on loom.loom_thread_version to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy loom_turn_of_org on loom.loom_turn to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy loom_weaving_of_org on loom.loom_weaving to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy loom_weaving_part_of_org on loom.loom_weaving_part to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy loom_weaving_change_of_org on loom.loom_weaving_change to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));

-- The scheduler looks across orgs: what is due, and what is old.
create policy loom_scheduling on loom.loom for select to loom_scheduler using (true);
create policy loom_thread_housekeeping on loom.loom_thread to loom_scheduler using (true);
create policy loom_turn_housekeeping on loom.loom_turn to loom_scheduler using (true);
create policy loom_weaving_scheduling on loom.loom_weaving to loom_scheduler using (true);

create type loom.weaving_place as (
  org text collate "C",
  loom_id uuid
);
comment on type loom.weaving_place is 'A loom that a worker may claim.';

create type loom.loom_rule as (
  night_weaving boolean,
  quiet interval,
  model text
);
comment on type loom.loom_rule is 'What holds for a loom''s night weaving after its own settings, its namespace''s and the installation''s.';

-- For operators, as the views before; here, where all planes are there. They are those that an erasure answers,
-- so that the numbers can be held against each other. All parts have the same types, else a condition on org and
-- user would be judged after counting everything.
create view loom.v_user_rows as
select org::text, user_id::text, namespace::text, 'working_memory' as plane, count(*) as total,
  count(*) filter (where deleted_at is null) as live, coalesce(sum(value_length), 0) as characters,
  min(created_at) as oldest_at, max(updated_at) as newest_at
from loom.working_memory
group by 1, 2, 3
union all
select org::text, user_id::text, namespace::text,
  case when memory_type <> 'profile' then 'memory'
    when memory_key = 'structured_profile' and agent = '-' then 'structured_profile' else 'profile' end,
  count(*),
  count(*) filter (where deleted_at is null and redacted_at is null and (expires_at is null or expires_at > now())),
  coalesce(sum(value_length), 0), min(created_at), max(recorded_at)
from loom.memory
where version > 0  -- as every row's is: the index of a user's rows is used by those who say so
group by 1, 2, 3, 4
union all
-- With its versions, as an erasure counts them.
select org::text, user_id::text, namespace::text, 'user_profile', count(*), count(*) filter (where live),
  coalesce(sum(characters), 0)::bigint, min(first_at), max(last_at)
from (
  select org::text, user_id::text, namespace::text, deleted_at is null as live,
    char_length(profile::text) as characters, created_at as first_at, updated_at as last_at
  from loom.user_profile
  union all
  select org::text, user_id::text, namespace::text, false, char_length(profile::text), recorded_at, recorded_at
  from loom.user_profile_version
) as kept
group by 1, 2, 3
union all
-- A value stands once, in the version that first had it.
select org::text, user_id::text, namespace::text, 'memory_version', count(*),
  count(*) filter (where value_version = version),
  coalesce(sum(value_length) filter (where value_version = version), 0), min(recorded_at), max(recorded_at)
from loom.memory_version
group by 1, 2, 3
union all
select org::text, user_id::text, namespace::text, 'activity', count(*), count(*), 0::bigint,
  min(last_at), max(last_at)
from loom.profile_activity
group by 1, 2, 3
union all
-- A stored answer belongs to no namespace.
select told.org::text, told.user_id::text, null::text, 'idempotency', count(*),
  count(*) filter (where kept.expires_at > now()), 0::bigint, min(kept.created_at), max(kept.created_at)
from loom.idempotency_user as told
join loom.idempotency as kept
  on kept.org = told.org and kept.actor = told.actor and kept.op = told.op and kept.key = told.key
group by 1, 2
union all
select org::text, user_id::text, namespace::text, 'work', count(*), count(*) filter (where listed_at is not null), 0::bigint,
  min(least(built_at, tried_at, listed_at)), max(greatest(built_at, tried_at, listed_at))
from loom.build
group by 1, 2, 3
union all
-- Former versions hold their own text; turns are what a night weaving reads.
select org::text, user_id::text, namespace::text, 'loom_thread', count(*), count(*) filter (where live), sum(characters)::bigint,
  min(at), max(at)
from (
  select org, user_id, namespace, deleted_at is null as live, char_length(text) as characters, updated_at as at
  from loom.loom_thread
  union all
  select org, user_id, namespace, false, char_length(text), recorded_at from loom.loom_thread_version
  union all
  select org, user_id, namespace, woven_by is null, char_length(text), at from loom.loom_turn
) as woven
group by 1, 2, 3;
comment on view loom.v_user_rows is
  'How many rows a user has: by org, namespace and plane, how many of them are live, how many characters they hold, and from when to when. Read it with org and user_id.';
