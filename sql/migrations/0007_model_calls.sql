-- Calls of a model: what each took, and what an org has used in a day; how work goes on; and the bell
-- that wakes a worker.

create table loom.model_usage (
  org text collate "C" not null,
  at timestamptz not null,
  usage_id uuid not null default gen_random_uuid(),
  purpose text collate "C" not null,
  namespace text collate "C" not null,
  -- `-` where the lease was over: the user may have been erased while the model thought.
  user_id text collate "C" not null,
  model text collate "C" not null,
  prompt_tokens integer not null,
  completion_tokens integer not null,
  milliseconds integer not null,
  -- OK, or the code of how it ended.
  outcome text collate "C" not null,
  constraint model_usage_pkey primary key (org, at, usage_id)
);
comment on table loom.model_usage is 'One row a call of a model: for whom, what it took, and how it ended.';
create index model_usage_user_idx on loom.model_usage (org, user_id);

-- The same in sums: what the cap is held against, and what stays when a user is erased.
create table loom.model_day (
  org text collate "C" not null,
  day date not null,
  purpose text collate "C" not null,
  model text collate "C" not null,
  outcome text collate "C" not null,
  calls bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  milliseconds bigint not null,
  constraint model_day_pkey primary key (org, day, purpose, model, outcome)
) with (fillfactor = 70);
comment on table loom.model_day is 'What an org''s calls of models took on a day (UTC), without its users.';

create table loom.work_count (
  -- The kind of work; for tokens the purpose of the calls, which is named like it.
  kind text collate "C" not null,
  -- `claimed`: users leased; `tokens`: of models; else how a build ended.
  outcome text collate "C" not null,
  total bigint not null,
  last_at timestamptz not null,
  constraint work_count_pkey primary key (kind, outcome)
) with (fillfactor = 70);
comment on table loom.work_count is
  'How often work was claimed, how it ended and what models took for it, since the installation began; and when last.';

-- Writers read it and never lock it. Only while a worker sleeps is it worth a notification, since one
-- takes a lock of the whole server when its transaction commits.
create table loom.worker_bell (
  single boolean not null default true,
  -- Null while nobody sleeps; it lapses, since a worker that was killed disarms nothing.
  armed_until timestamptz,
  constraint worker_bell_pkey primary key (single),
  constraint worker_bell_single check (single)
) with (fillfactor = 70);
comment on table loom.worker_bell is 'One row: whether a worker sleeps and wants to be woken by work that is due now.';
insert into loom.worker_bell default values;

-- The scheduler's: has a namespace's wait ended since a pass did?
create index profile_schema_wait_idx on loom.profile_schema (wait_until) where wait_until is not null;

alter table loom.model_usage enable row level security;
alter table loom.model_day enable row level security;
alter table loom.work_count enable row level security;
alter table loom.worker_bell enable row level security;
create policy model_usage_of_org on loom.model_usage to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy model_day_of_org on loom.model_day to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy work_count_rows on loom.work_count to loom_api, loom_scheduler using (true) with check (true);
create policy worker_bell_row on loom.worker_bell to loom_api, loom_scheduler using (true) with check (true);
-- Whether an org is at its cap.
create policy model_day_scheduling on loom.model_day for select to loom_scheduler using (true);
create policy setting_scheduling on loom.setting for select to loom_scheduler using (true);

-- For operators, as the views before: ids, codes and numbers of every org, and no text of a user.

create view loom.v_builds as
select building.org::text, building.namespace::text, building.kind::text, building.user_id::text, building.built_at,
  building.built_count as sources, building.row_state::text,
  building.built_sha256 is not distinct from schema.schema_sha256 as schema_current,
  (building.built_digest, building.built_count) is not distinct from (state.source_digest, state.source_count)
    and (state.next_change_at <= now()) is not true as sources_current,
  building.tried_at, building.attempts, building.last_error::text, building.lease_id, building.leased_until
from loom.build as building
left join loom.profile_schema as schema on schema.org = building.org and schema.namespace = building.namespace
left join loom.user_state as state
  on state.org = building.org and state.namespace = building.namespace and state.user_id = building.user_id
where building.built_at is not null or building.lease_id is not null;
comment on view loom.v_builds is
  'What was built, and what is being built: when, from how many sources, whether these and the schema are still those of now, what of it stands (row_state: served, high: held back, void: expired, redacted or a caller''s; null: nothing), the last try, and the lease of whoever is at it.';

create view loom.v_usage as
select org::text, day, purpose::text, model::text, sum(calls)::bigint as calls,
  sum(prompt_tokens)::bigint as prompt_tokens, sum(completion_tokens)::bigint as completion_tokens,
  sum(milliseconds)::bigint as milliseconds, jsonb_object_agg(outcome, calls) as outcomes
from loom.model_day
group by 1, 2, 3, 4;
comment on view loom.v_usage is
  'Calls of models by org, day (UTC), purpose and model: how many, tokens, time, and calls by how they ended (OK or a code). Erasing a user changes none of it.';

-- As in 0006, with orgs that are at their cap: a view is replaced as a whole.
create or replace view loom.v_due as
select building.org::text, building.namespace::text, building.kind::text, building.user_id::text,
  case when unseen.is_so and building.lease_id is null then least(building.due_at, schema.updated_at) else building.due_at end
    as due_at,
  coalesce(building.listed_at, case when unseen.is_so then schema.updated_at end) as listed_at,
  array_remove(array[
    case when building.built_at is null then 'new' end,
    case when (building.built_digest, building.built_count) is distinct from (state.source_digest, state.source_count)
      and building.built_at is not null then 'sources' end,
    case when building.built_sha256 <> schema.schema_sha256 then 'schema' end,
    case when building.row_state <> 'served' or (building.row_state is null and building.built_at is not null)
      then 'row' end,
    case when state.next_change_at <= now() then 'time' end], null) as reasons,
  case when schema.wait_until > now() then 'schema_unreadable'
    when building.modelless then null
    when setting.model_calls is false then 'model_calls_off'
    when used.tokens >= cap.tokens then 'model_token_cap' end as held,
  building.attempts, building.last_error::text, building.refused::text, building.leased_until
from loom.build as building
join loom.profile_schema as schema on schema.org = building.org and schema.namespace = building.namespace
join loom.user_state as state
  on state.org = building.org and state.namespace = building.namespace and state.user_id = building.user_id
left join loom.org_setting as setting on setting.org = building.org
left join (
  select org, sum(prompt_tokens + completion_tokens) as tokens from loom.model_day
  where day = (now() at time zone 'UTC')::date group by org
) as used on used.org = building.org
cross join (
  select max(value::bigint) as tokens from loom.setting where name = 'model_daily_token_cap'
) as cap
-- Nobody may have looked at the user since the schema changed: it is due since then.
cross join lateral (
  select building.schema_rev < schema.schema_rev and (building.row_state is distinct from 'served'
    or (building.built_digest, building.built_count, building.built_sha256)
      is distinct from (state.source_digest, state.source_count, schema.schema_sha256))
    and (state.source_count > 0 or building.row_state is not null) as is_so
) as unseen
where schema.json_schema is not null and (building.listed_at is not null or building.due_at <= now() or unseen.is_so);
comment on view loom.v_due is
  'What is to be built: whose, since when, when (later than now: it cools down, waits or is under way) and why. reasons: new (never built), sources (its facts have changed), schema, row (what was built is not served), time (a fact ends or expires, so that it is to be looked at); held: due, but nobody may build it: model_calls_off, model_token_cap (until the next day, UTC), schema_unreadable; refused: not before something changes. Read it with org; what a worker may take now has due_at <= now() and held null.';
