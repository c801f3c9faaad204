-- Search: what of a row full text finds, which rows want a vector, and the models that make these.

create domain loom.search_plane as text collate "C" constraint search_plane_known
  check (value in ('memory', 'profile'));
comment on domain loom.search_plane is 'Facts, or profile sections, which a search of facts never shows.';

-- A side table, since metadata of a row is written more often than its text, and its index is dear.
create table loom.memory_text (
  org loom.identifier not null,
  memory_id uuid not null,
  namespace loom.identifier not null,
  user_id loom.identifier not null,
  plane loom.search_plane not null,
  -- The text search configuration that made the words; empty: none has yet.
  language text collate "C" not null,
  content_sha256 text collate "C" not null,
  -- Also holds lexemes that no word can equal, for whose row it is, its type, source class and tags: one
  -- index answers "these words within this reach".
  words tsvector not null,
  constraint memory_text_pkey primary key (org, memory_id)
);
comment on table loom.memory_text is
  'One row per row of loom.memory that is neither deleted nor redacted: what full text finds it by. Triggers keep it.';
-- Searches of every org, by loom_search alone. The list of what is to be worked in is scanned by each
-- search, so it is kept short.
create index memory_text_words_idx on loom.memory_text using gin (words) with (gin_pending_list_limit = 256);
create index memory_text_user_idx on loom.memory_text (org, user_id, namespace);
-- Which configurations a namespace's rows were made with: a search asks in each, housekeeping looks for
-- those that are not the namespace's.
create index memory_text_language_idx on loom.memory_text (org, namespace, language);
-- Those from before there was a search, however many namespaces they are in; empty once they are done.
create index memory_text_new_idx on loom.memory_text (org, namespace) where language = '';

create table loom.embedding_model (
  model text collate "C" not null,
  -- Of its vectors; null until the first ones are stored.
  dimension integer,
  state text collate "C" not null,
  created_at timestamptz not null,
  activated_at timestamptz,
  retired_at timestamptz,
  -- How far the rows that were there before are listed as due: the last one, and when the end was reached.
  cursor_org text collate "C" not null default '',
  cursor_memory_id uuid not null default '00000000-0000-0000-0000-000000000000',
  swept_at timestamptz,
  -- How many rows there were when it was added, and how many of those are listed.
  total bigint not null default 0,
  listed bigint not null default 0,
  constraint embedding_model_pkey primary key (model),
  constraint embedding_model_size check (char_length(model) between 1 and 200 and octet_length(model) <= 256),
  constraint embedding_model_dimension_range check (dimension between 1 and 16000),
  constraint embedding_model_state_known check (state in ('building', 'active', 'retired'))
) with (fillfactor = 70);
comment on table loom.embedding_model is
  'Models that make vectors, of the installation: the active one, by which searches go, the one being built, and retired ones.';
create unique index embedding_model_one_key on loom.embedding_model (state) where state in ('building', 'active');

-- Apart from memory_text, where each claim would be an update of the index of words.
create table loom.embedding_due (
  org loom.identifier not null,
  memory_id uuid not null,
  model text collate "C" not null,
  namespace loom.identifier not null,
  user_id loom.identifier not null,
  -- When a claim may take it: now, or when a lease or a wait ends; infinity: it was given up.
  due_at timestamptz not null,
  lease_id uuid,
  attempts integer not null default 0,
  last_error text collate "C",
  constraint embedding_due_pkey primary key (org, memory_id, model),
  constraint embedding_due_text_fkey foreign key (org, memory_id)
    references loom.memory_text (org, memory_id) on delete cascade
) with (fillfactor = 70);
comment on table loom.embedding_due is
  'Texts that are to have a vector of a model: when a claim may take them, and who is at it.';
create index embedding_due_idx on loom.embedding_due (org, model, due_at, memory_id);
-- The scheduler's, across orgs: which orgs have something due.
create index embedding_due_all_idx on loom.embedding_due (model, org, due_at);
create index embedding_due_user_idx on loom.embedding_due (org, user_id, namespace);
create index embedding_due_lease_idx on loom.embedding_due (org, lease_id) where lease_id is not null;

create table loom.person_word (
  language text collate "C" not null,
  word text collate "C" not null,
  constraint person_word_pkey primary key (word, language)
);
comment on table loom.person_word is
  'Words of the first and second person, by language, in lower case: a query with one is about its user.';

create table loom.stop_word (
  language text collate "C" not null,
  word text collate "C" not null,
  constraint stop_word_pkey primary key (word, language)
);
comment on table loom.stop_word is
  'Words that say nothing in a question, by language, in lower case: the lists of the server''s dictionaries.';

-- Rows from before: found once housekeeping has made their words.
insert into loom.memory_text (org, memory_id, namespace, user_id, plane, language, content_sha256, words)
select org, memory_id, namespace, user_id, case memory_type when 'profile' then 'profile' else 'memory' end,
  '', content_sha256, ''
from loom.memory where deleted_at is null and redacted_at is null;

alter table loom.memory_text enable row level security;
alter table loom.embedding_model enable row level security;
alter table loom.embedding_due enable row level security;
alter table loom.person_word enable row level security;
alter table loom.stop_word enable row level security;
create policy memory_text_of_org on loom.memory_text to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy embedding_due_of_org on loom.embedding_due to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy embedding_model_registry on loom.embedding_model to loom_api, loom_scheduler, loom_search
  using (true) with check (true);
create policy person_word_data on loom.person_word to loom_api using (true);
create policy stop_word_data on loom.stop_word to loom_api using (true);
-- The tables that are in use come last, in the order in which writers lock them.
lock table loom.namespace, loom.memory, loom.audit in access exclusive mode;
-- Row-level security stops the operators of full text and vectors from using an index: searches run as
-- loom_search, take a checked org and reach, and name the org.
create policy memory_search on loom.memory for select to loom_search using (true);
create policy memory_text_search on loom.memory_text for select to loom_search using (true);
create policy namespace_search on loom.namespace for select to loom_search using (true);
-- Housekeeping looks across orgs.
create policy memory_text_housekeeping on loom.memory_text to loom_scheduler using (true) with check (true);
create policy embedding_due_housekeeping on loom.embedding_due to loom_scheduler using (true) with check (true);
create policy namespace_housekeeping on loom.namespace for select to loom_scheduler using (true);
-- Where the fold goes round, across orgs.
create policy namespace_scheduling on loom.namespace for select to loom_scheduler using (true);
-- Which models are in use is recorded under no org.
create policy audit_of_models on loom.audit for insert to loom_scheduler with check (org = '-');

create type loom.search_filter as (
  plane text collate "C",
  types text[] collate "C",
  tags text[] collate "C",
  source_class text collate "C"
);
comment on type loom.search_filter is 'Conditions of a search beside its query; null: any.';

create type loom.search_query as (
  -- A word of the query each: any of the lexemes that it becomes in the configurations asked.
  terms tsquery[],
  -- Null when no search by vectors is made.
  model text collate "C",
  vector jsonb,
  -- Leg -> whether it runs, and if not, why.
  legs jsonb
);
comment on type loom.search_query is 'What a query asks of each leg of a search.';

create type loom.search_hit as (
  memory_id uuid,
  place integer,
  -- Of the leg that found it: only its order means something.
  score double precision
);
comment on type loom.search_hit is 'A row that one leg of a search found.';

create type loom.found_memory as (
  memory loom.memory,
  score double precision,
  -- Leg -> place in it.
  legs jsonb
);
comment on type loom.found_memory is 'A row that a search found: its fused score, and its place in each leg that found it.';
