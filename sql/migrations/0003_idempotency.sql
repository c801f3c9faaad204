-- What a write with an idempotency key answered, for a day, so that its repetition has no second effect.

create table loom.idempotency (
  org text collate "C" not null,
  actor text collate "C" not null,
  op text collate "C" not null,
  key text collate "C" not null,
  request_hash bigint[] not null,
  -- Null until the call has succeeded, and for good where the answer holds a secret.
  answer jsonb,
  user_ids text[] collate "C" not null default '{}',
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint idempotency_pkey primary key (org, actor, op, key),
  constraint idempotency_key_size check (char_length(key) between 1 and 200)
);
comment on table loom.idempotency is
  'Answers of writes with an idempotency key, by caller, operation and key; kept for 24 hours.';
create index idempotency_expiry_idx on loom.idempotency (expires_at);

-- Which stored answers speak of a user: an array in the row itself could not be found by an index
-- under row-level security.
create table loom.idempotency_user (
  org text collate "C" not null,
  -- * where an answer may speak of anyone: a batch that read beyond the users it wrote under.
  user_id text collate "C" not null,
  namespace text collate "C" not null,
  actor text collate "C" not null,
  op text collate "C" not null,
  key text collate "C" not null,
  constraint idempotency_user_pkey primary key (org, user_id, namespace, actor, op, key),
  constraint idempotency_user_answer_fkey foreign key (org, actor, op, key)
    references loom.idempotency (org, actor, op, key) on delete cascade
);
comment on table loom.idempotency_user is 'The users a stored answer speaks of, so that an erasure finds it.';
create index idempotency_user_answer_idx on loom.idempotency_user (org, actor, op, key);

alter table loom.idempotency enable row level security;
alter table loom.idempotency_user enable row level security;
create policy idempotency_of_org on loom.idempotency to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy idempotency_user_of_org on loom.idempotency_user to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
-- Housekeeping looks across orgs.
create policy idempotency_housekeeping on loom.idempotency to loom_scheduler using (true);

alter table loom.operation add column batchable boolean not null default true;
comment on column loom.operation.batchable is
  'False for what must not stand in a batch: a batch itself, and answers that hold a secret.';
