-- Working memory: small named blocks of text an agent resumes from.

create domain loom.block_key as text collate "C"
  constraint block_key_size check (char_length(value) between 1 and 80);
comment on domain loom.block_key is 'The name of a block: 1 to 80 characters.';
create domain loom.block_limit as integer
  constraint block_limit_range check (value between 1 and 16384);
comment on domain loom.block_limit is 'How many characters a block may hold: 1 to 16384.';

create table loom.working_memory (
  org loom.identifier not null,
  namespace loom.identifier not null,
  agent loom.identifier not null,
  user_id loom.identifier not null,
  session_id loom.identifier not null,
  run_id loom.identifier not null,
  block_key loom.block_key not null,
  content text collate "C",
  char_limit loom.block_limit not null,
  description text collate "C",
  read_only boolean not null default false,
  version bigint not null,
  -- Stored, so that a list need not fetch the text and a hash cannot be off its text.
  value_length integer generated always as (char_length(content)) stored,
  content_sha256 text collate "C" generated always as (loom._sha256(content)) stored,
  created_at timestamptz not null,
  created_by text collate "C" not null,
  updated_at timestamptz not null,
  updated_by text collate "C" not null,
  deleted_at timestamptz,
  -- The user stands first, so that one index finds a block, a scope and all of a user's blocks. A second
  -- one for these would tie with it in the planner's eyes, once there are many orgs and users, and
  -- then a look-up of one block could read all blocks of its user.
  constraint working_memory_pkey
    primary key (org, user_id, namespace, agent, session_id, run_id, block_key),
  -- What a caller meets is the operation's own refusal; these stand behind it.
  constraint working_memory_content_fits check (value_length <= char_limit),
  constraint working_memory_tombstone_is_empty check (
    (deleted_at is null) = (content is not null) and (deleted_at is null or description is null)
  )
) with (fillfactor = 70);
comment on table loom.working_memory is
  'One row per block, live or tombstone. A tombstone keeps key, version, who and when; text and hash are gone.';

alter table loom.working_memory enable row level security;
create policy working_memory_of_org on loom.working_memory to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));

-- Where a layered render reads; distance 1 is the narrowest.
create type loom.memory_layer as (
  distance integer,
  name text,
  agent text collate "C",
  user_id text collate "C",
  session_id text collate "C",
  run_id text collate "C"
);
comment on type loom.memory_layer is 'One layer of working memory: its name, how far out it lies, and the identity it stands for.';

create type loom.rendered as (
  body text,
  parts jsonb,
  omitted jsonb,
  omitted_count bigint
);
comment on type loom.rendered is 'A rendered prompt fragment: its text, what it is made of, and what was left out.';
