-- Structured profiles: a namespace's schema, the digest of each user's sources, and what is to be built.

-- In the order in which writers lock them: else one that has the first would wait for us as we for it.
lock table loom.user_state, loom.memory in access exclusive mode;

-- The next moment that changes what a row is to its user's digest: an end of validity, an expiry.
alter table loom.memory add column changes_at timestamptz;
create index memory_change_idx on loom.memory (org, namespace, user_id, changes_at)
  where changes_at is not null;

-- The xor of the source_part of all sources of the user, their number, when either last changed, and
-- the earliest changes_at of the user's rows: from then on the digest is not that of the current sources.
alter table loom.user_state
  add column source_digest bit(128) not null default 0::bit(128),
  add column source_count bigint not null default 0,
  add column sources_changed_at timestamptz,
  add column next_change_at timestamptz;

-- With the namespace: a look-up by the whole key may take this one as well, and some user is in all of them.
drop index loom.user_state_user_idx;
create index user_state_user_idx on loom.user_state (org, user_id, namespace);

create table loom.profile_schema (
  org text collate "C" not null,
  namespace text collate "C" not null,
  -- Null with its hash once it was cleared; the row stays, since the revision only ever rises.
  json_schema jsonb,
  schema_sha256 text collate "C",
  schema_rev bigint not null,
  -- A stored schema that a worker cannot read makes its namespace wait, longer each time.
  attempts integer not null default 0,
  wait_until timestamptz,
  updated_at timestamptz not null,
  updated_by text collate "C" not null,
  constraint profile_schema_pkey primary key (org, namespace),
  constraint profile_schema_whole check ((json_schema is null) = (schema_sha256 is null))
);
comment on table loom.profile_schema is
  'The shape a namespace wants its users'' structured profiles in; schema_rev rises with each change of the hash.';

-- The scheduler's, across orgs: has anyone set a schema, or allowed model calls again, since a pass ended?
create index profile_schema_updated_idx on loom.profile_schema (updated_at);
create index org_setting_allowed_idx on loom.org_setting (updated_at) where model_calls;

create table loom.work_kind (
  kind text collate "C" not null,
  -- The profile section it writes.
  label text collate "C" not null,
  enabled boolean not null,
  memory_limit integer not null,
  max_users_per_pass integer not null,
  max_pass interval not null,
  pass_interval interval not null,
  idle_interval interval not null,
  cooldown interval not null,
  -- The longest that a deletion waits which comes after a try that did not wait either.
  scan_max_age interval not null,
  backoff_base interval not null,
  backoff_cap interval not null,
  refusal_retry interval not null,
  lease interval not null,
  constraint work_kind_pkey primary key (kind)
);
comment on table loom.work_kind is
  'The kinds of work and their waits and bounds, as the applier found them in its environment.';
-- The defaults of LOOM_STRUCTURED_PROFILE_*.
insert into loom.work_kind values ('structured_profile', 'structured_profile', true, 100, 20, '600s', '60s', '600s', '600s',
  '600s', '300s', '21600s', '21600s', '300s');

-- One row per user and kind, from the user's first source on. What the digest is stands in user_state;
-- here stands what was built from which digest, when somebody is to look again, and who is at it.
create table loom.build (
  org text collate "C" not null,
  namespace text collate "C" not null,
  kind text collate "C" not null,
  user_id loom.identifier not null,
  -- The revision of the schema under which it was last looked at.
  schema_rev bigint not null default 0,
  -- When a claim is to look at it, and since when it is known to be behind; null: nothing to do.
  due_at timestamptz,
  listed_at timestamptz,
  -- Whether it needs no model: its user has no sources left, or is only to be looked at when time changes them.
  modelless boolean not null default false,
  -- Of the row it writes: null none, served, high (held), void (expired, redacted or a caller's).
  row_state text collate "C",
  built_at timestamptz,
  built_digest bit(128),
  built_count bigint,
  built_sha256 text collate "C",
  -- Property -> ids of the sources that the model named for it.
  built_sources jsonb,
  -- The end of the last try, whatever came of it, the schema it was made under, and how many sources it had.
  tried_at timestamptz,
  tried_sha256 text collate "C",
  tried_count bigint,
  attempts integer not null default 0,
  last_error text collate "C",
  next_attempt_at timestamptz,
  refused text collate "C",
  refused_until timestamptz,
  lease_id uuid,
  leased_until timestamptz,
  lease_epoch bigint,
  lease_sha256 text collate "C",
  -- What the holder of the lease was given to read: digest and count of all, ids and xor of those read.
  read_digest bit(128),
  read_count bigint,
  read_ids uuid[],
  read_part bit(128),
  constraint build_pkey primary key (org, namespace, kind, user_id),
  constraint build_row_state_known check (row_state in ('served', 'high', 'void')),
  constraint build_lease_whole check ((lease_id is null) = (leased_until is null))
) with (fillfactor = 70);
comment on table loom.build is
  'What the worker builds of each user: what it was built from, when it is due, its waits, its lease.';
create index build_due_idx on loom.build (org, namespace, kind, due_at) where due_at is not null;
create index build_modelless_idx on loom.build (org, namespace, kind, due_at)
  where due_at is not null and modelless;
create index build_rev_idx on loom.build (org, namespace, kind, schema_rev);
create unique index build_lease_key on loom.build (org, lease_id) where lease_id is not null;
create index build_user_idx on loom.build (org, user_id, namespace);
-- The scheduler's, across orgs: is anything due at all?
create index build_due_all_idx on loom.build (kind, due_at) where due_at is not null;

create table loom.pass (
  kind text collate "C" not null,
  pass_no bigint not null,
  -- Null while no pass is under way.
  opened_at timestamptz,
  half_at timestamptz,
  deadline_at timestamptz,
  -- What no claim has taken yet.
  budget_left integer not null default 0,
  taken integer not null default 0,
  -- Where the rotation stands: the namespace that was reached last, how far the pass has come round,
  -- and where it began.
  rotation_org text collate "C" not null default '',
  rotation_namespace text collate "C" not null default '',
  start_org text collate "C" not null default '',
  start_namespace text collate "C" not null default '',
  wrapped boolean not null default false,
  went_round boolean not null default false,
  -- When the last pass ended, and until when the next waits unless something falls due.
  closed_at timestamptz,
  not_before timestamptz,
  constraint pass_pkey primary key (kind)
) with (fillfactor = 70);
comment on table loom.pass is 'The pass under way of each kind of work, shared by all workers: deadline, budget, rotation.';

create table loom.pass_share (
  org text collate "C" not null,
  namespace text collate "C" not null,
  kind text collate "C" not null,
  share integer not null,
  share_left integer not null,
  -- All its due users were being written when it was to claim: the pass goes on without it.
  held boolean not null default false,
  constraint pass_share_pkey primary key (org, namespace, kind)
) with (fillfactor = 70);
comment on table loom.pass_share is 'What each namespace that a pass has reached may still have of its budget.';

-- Rows from before: of the current ones of each identity, type and hash the oldest counts, if it is a
-- source; if not, its end is a moment where another waits for it.
with current_row as (
  select org, memory_id, row_number() over same as place, lead(memory_id) over same is not null as awaited,
    sensitivity <> 'high' and (valid_to is null or valid_to > now()) and not exists (
      select from unnest(tags) as tag where tag in ('about:other', 'forget') or tag ^@ 'attribute:') as is_source
  from loom.memory
  where user_id <> '-' and memory_type in ('semantic', 'preference', 'decision')
    and deleted_at is null and redacted_at is null and (expires_at is null or expires_at > now())
  window same as (
    partition by org, namespace, agent, user_id, session_id, memory_type, content_sha256
    order by created_at, memory_id)
)
update loom.memory as fact
set changes_at = case when is_source then least(expires_at, valid_to) when awaited then expires_at end,
  source_part = case when is_source then
    ('x' || left(encode(sha256(convert_to(concat_ws('|', fact.memory_id, content_sha256, confidence,
      (extract(epoch from coalesce(valid_at, changed_at)) * 1000000)::bigint), 'UTF8')), 'hex'), 32))::bit(128) end
from current_row
where fact.org = current_row.org and fact.memory_id = current_row.memory_id and place = 1;
update loom.user_state as state
set source_digest = told.digest, source_count = told.count, sources_changed_at = told.changed_at,
  next_change_at = told.next
from (
  select org, namespace, user_id, coalesce(bit_xor(source_part), 0::bit(128)) as digest,
    count(source_part) as count, max(changed_at) filter (where source_part is not null) as changed_at,
    min(changes_at) as next
  from loom.memory where user_id <> '-' group by org, namespace, user_id
) as told
where state.org = told.org and state.namespace = told.namespace and state.user_id = told.user_id;
insert into loom.build (org, namespace, kind, user_id, row_state)
select org, namespace, 'structured_profile', user_id,
  max('void') filter (where memory_key = 'structured_profile' and agent = '-' and session_id = '-'
    and deleted_at is null)
from loom.memory
where user_id <> '-' and (source_part is not null or changes_at is not null
  or (memory_key = 'structured_profile' and agent = '-' and session_id = '-'))
group by org, namespace, user_id;

alter table loom.profile_schema enable row level security;
alter table loom.work_kind enable row level security;
alter table loom.build enable row level security;
alter table loom.pass enable row level security;
alter table loom.pass_share enable row level security;
create policy profile_schema_of_org on loom.profile_schema to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy build_of_org on loom.build to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy pass_share_of_org on loom.pass_share to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy work_kind_list on loom.work_kind to loom_api, loom_scheduler using (true) with check (true);
create policy pass_rows on loom.pass to loom_api, loom_scheduler using (true) with check (true);
-- The scheduler looks across orgs, and so does housekeeping, whose deletions keep the digest.
create policy profile_schema_scheduling on loom.profile_schema for select to loom_scheduler using (true);
create policy build_scheduling on loom.build to loom_scheduler using (true) with check (true);
create policy pass_share_scheduling on loom.pass_share to loom_scheduler using (true) with check (true);
create policy org_setting_scheduling on loom.org_setting for select to loom_scheduler using (true);

-- What one statement did to a user's rows, as the triggers on loom.memory add it up.
create type loom.source_change as (
  org text collate "C",
  namespace text collate "C",
  user_id text collate "C",
  part bit(128),
  added bigint,
  moments boolean,
  profile_row boolean,
  row_state text
);
comment on type loom.source_change is
  'What a statement changed of a user: xor of parts, number of sources, whether moments or the built row were among it.';

create type loom.work_lease as (
  org text collate "C",
  namespace text collate "C",
  kind text collate "C",
  user_id text collate "C",
  lease_id uuid,
  leased_until timestamptz
);
comment on type loom.work_lease is 'A user that a worker may build until then; whoever has the lease id ends it.';

create type loom.profile_standing as (
  schema loom.profile_schema,
  state loom.user_state,
  build loom.build,
  stored loom.memory
);
comment on type loom.profile_standing is 'All that is known of a user''s structured profile.';
