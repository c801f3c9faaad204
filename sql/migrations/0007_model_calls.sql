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
-- Housekeeping, across orgs.
create index model_usage_old_idx on loom.model_usage (at);

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
-- Housekeeping looks across orgs.
create policy model_usage_housekeeping on loom.model_usage to loom_scheduler using (true);
-- Whether an org is at its cap.
create policy model_day_scheduling on loom.model_day for select to loom_scheduler using (true);
create policy setting_scheduling on loom.setting for select to loom_scheduler using (true);

-- For operators, as the views before: ids, codes and numbers of every org, and no text of a user.

create view loom.v_usage as
select org::text, day, purpose::text, model::text, sum(calls)::bigint as calls,
  sum(prompt_tokens)::bigint as prompt_tokens, sum(completion_tokens)::bigint as completion_tokens,
  sum(milliseconds)::bigint as milliseconds, jsonb_object_agg(outcome, calls) as outcomes
from loom.model_day
group by 1, 2, 3, 4;
comment on view loom.v_usage is
  'Calls of models by org, day (UTC), purpose and model: how many, tokens, time, and calls by how they ended (OK or a code). Erasing a user changes none of it.';
