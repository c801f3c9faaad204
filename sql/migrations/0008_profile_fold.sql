-- The fold: a second kind of work, which folds a user's preferences and decisions into one section of text.

-- What says how a kind builds where that is not each namespace's profile schema.
alter table loom.work_kind
  -- Of what types a user's facts are that it reads, and how long the section may be that it writes.
  add column memory_types text[] collate "C",
  add column char_limit integer,
  -- Its name takes the place of a schema's hash: another name, and all is built anew. Null: by schema.
  add column recipe text collate "C",
  -- Rises whenever the kind is switched on: whoever was looked at under an earlier one is looked at again.
  add column recipe_rev bigint,
  add column enabled_at timestamptz;
update loom.work_kind set memory_types = '{semantic,preference,decision}', char_limit = 65536
where kind = 'structured_profile';
alter table loom.work_kind
  alter column memory_types set not null,
  alter column char_limit set not null,
  add constraint work_kind_recipe_whole check ((recipe is null) = (recipe_rev is null));
-- The defaults of LOOM_PROFILE_CONSOLIDATION_*; the waits that have no setting are those of structured profiles.
insert into loom.work_kind
select 'profile_consolidation', 'consolidated_profile', false, 100, 20, max_pass, pass_interval, idle_interval, '600s',
  scan_max_age, backoff_base, backoff_cap, refusal_retry, lease, '{preference,decision}', 8192, 'fold-1', 0, null
from loom.work_kind where kind = 'structured_profile';

-- As source_digest and source_count, of those sources that the fold reads. Kept also while it is
-- switched off: that costs next to nothing, and there is nothing to count when it is switched on.
alter table loom.user_state
  add column fold_digest bit(128) not null default 0::bit(128),
  add column fold_count bigint not null default 0;

alter type loom.source_change
  add attribute fold_part bit(128),
  add attribute fold_added bigint,
  add attribute fold_moments boolean,
  add attribute fold_row boolean,
  add attribute fold_row_state text;

-- Rows from before.
update loom.user_state as state
set fold_digest = told.digest, fold_count = told.count
from (
  select org, namespace, user_id, bit_xor(source_part) as digest, count(*) as count
  from loom.memory
  where source_part is not null and memory_type in ('preference', 'decision')
  group by org, namespace, user_id
) as told
where state.org = told.org and state.namespace = told.namespace and state.user_id = told.user_id;
insert into loom.build (org, namespace, kind, user_id, row_state)
select org, namespace, 'profile_consolidation', user_id,
  max('void') filter (where memory_key = 'consolidated_profile' and agent = '-' and session_id = '-'
    and deleted_at is null)
from loom.memory
where user_id <> '-' and (
  (memory_type in ('preference', 'decision') and (source_part is not null or changes_at is not null))
  or (memory_key = 'consolidated_profile' and agent = '-' and session_id = '-'))
group by org, namespace, user_id;

-- For operators, as the views before, over both kinds: ids, codes and numbers of every org, no text of a user.

create view loom.v_due as
select building.org::text, building.namespace::text, building.kind::text, building.user_id::text,
  case when unseen.is_so and building.lease_id is null then least(building.due_at, schema.updated_at) else building.due_at end
    as due_at,
  coalesce(building.listed_at, case when unseen.is_so then schema.updated_at end) as listed_at,
  array_remove(array[
    case when building.built_at is null then 'new' end,
    case when (building.built_digest, building.built_count) is distinct from (sources.digest, sources.count)
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
join loom.work_kind as worked on worked.kind = building.kind
cross join lateral (
  select schema_sha256, schema_rev, updated_at, wait_until from loom.profile_schema
  where org = building.org and namespace = building.namespace and json_schema is not null and worked.recipe is null
  union all
  select worked.recipe, worked.recipe_rev, worked.enabled_at, null where worked.recipe is not null and worked.enabled
) as schema
join loom.user_state as state
  on state.org = building.org and state.namespace = building.namespace and state.user_id = building.user_id
cross join lateral (
  select case building.kind when 'profile_consolidation' then state.fold_digest else state.source_digest end as digest,
    case building.kind when 'profile_consolidation' then state.fold_count else state.source_count end as count
) as sources
left join loom.org_setting as setting on setting.org = building.org
left join (
  select org, sum(prompt_tokens + completion_tokens) as tokens from loom.model_day
  where day = (now() at time zone 'UTC')::date group by org
) as used on used.org = building.org
cross join (
  select max(value::bigint) as tokens from loom.setting where name = 'model_daily_token_cap'
) as cap
-- Nobody may have looked at the user since the schema changed, or the kind was switched on: it is due since then.
cross join lateral (
  select building.schema_rev < schema.schema_rev and (building.row_state is distinct from 'served'
    or (building.built_digest, building.built_count, building.built_sha256)
      is distinct from (sources.digest, sources.count, schema.schema_sha256))
    and (sources.count > 0 or building.row_state is not null) as is_so
) as unseen
where building.listed_at is not null or building.due_at <= now() or unseen.is_so;
comment on view loom.v_due is
  'What is to be built: whose, of what kind, since when, when (later than now: it cools down, waits or is under way) and why. reasons: new (never built), sources (its facts have changed), schema, row (what was built is not served), time (a fact ends or expires, so that it is to be looked at); held: due, but nobody may build it: model_calls_off, model_token_cap (until the next day, UTC), schema_unreadable; refused: not before something changes. Nothing of a kind that is switched off. Read it with org; what a worker may take now has due_at <= now() and held null.';

create view loom.v_builds as
select building.org::text, building.namespace::text, building.kind::text, building.user_id::text, building.built_at,
  building.built_count as sources, building.row_state::text,
  building.built_sha256 is not distinct from schema.schema_sha256 as schema_current,
  (building.built_digest, building.built_count) is not distinct from (sources.digest, sources.count)
    and (state.next_change_at <= now()) is not true as sources_current,
  building.tried_at, building.attempts, building.last_error::text, building.lease_id, building.leased_until
from loom.build as building
join loom.work_kind as worked on worked.kind = building.kind
left join lateral (
  select schema_sha256 from loom.profile_schema
  where org = building.org and namespace = building.namespace and worked.recipe is null
  union all
  select worked.recipe where worked.recipe is not null
) as schema on true
left join loom.user_state as state
  on state.org = building.org and state.namespace = building.namespace and state.user_id = building.user_id
cross join lateral (
  select case building.kind when 'profile_consolidation' then state.fold_digest else state.source_digest end as digest,
    case building.kind when 'profile_consolidation' then state.fold_count else state.source_count end as count
) as sources
where building.built_at is not null or building.lease_id is not null;
comment on view loom.v_builds is
  'What was built, and what is being built: of what kind, when, from how many sources, whether these and the schema (of the fold: its recipe) are still those of now, what of it stands (row_state: served, high: held back, void: expired, redacted or a caller''s; null: nothing), the last try, and the lease of whoever is at it.';

create view loom.v_backoff as
select building.org::text, building.namespace::text, building.kind::text, building.user_id::text,
  case when refused is null then next_attempt_at else refused_until end as until, attempts,
  case when lease_id is null then last_error else 'LEASE_LOST' end::text as last_error, refused::text
from loom.build as building
join loom.work_kind as worked on worked.kind = building.kind
where listed_at is not null and (lease_id is null or leased_until <= now())
  and case when refused is null then next_attempt_at else refused_until end > now()
  and (worked.recipe is null or worked.enabled)
union all
-- A namespace whose stored schema no worker can read waits as a whole.
select schema.org::text, schema.namespace::text, worked.kind::text, null::text, schema.wait_until, schema.attempts,
  'SCHEMA_UNREADABLE', null::text
from loom.profile_schema as schema
join loom.work_kind as worked on worked.recipe is null
where schema.json_schema is not null and schema.wait_until > now();
comment on view loom.v_backoff is
  'Who waits after a failed or refused build: until when, after how many attempts, and the code of the last error or of the refusal, which ends earlier when the user''s memories, the row or the schema change. Without a user: a whole namespace.';
