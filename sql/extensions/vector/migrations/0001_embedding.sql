-- Vectors. Applied where the database has the extension `vector`, whose schema the applier writes for
-- @vector@: wherever an operator has put it, it is on no search_path.

-- Several models side by side, so the column has no dimension; a model's vectors all have the model's.
create table loom.embedding (
  org loom.identifier not null,
  memory_id uuid not null,
  model text collate "C" not null,
  namespace loom.identifier not null,
  user_id loom.identifier not null,
  plane loom.search_plane not null,
  -- Of the text that the vector is of: a row with another text now is not found by it.
  content_sha256 text collate "C" not null,
  embedding @vector@.vector not null,
  made_at timestamptz not null,
  constraint embedding_pkey primary key (org, memory_id, model),
  constraint embedding_text_fkey foreign key (org, memory_id)
    references loom.memory_text (org, memory_id) on delete cascade
);
comment on table loom.embedding is 'Vectors of texts, by model.';
-- What is in reach, for the exact scan.
create index embedding_reach_idx on loom.embedding (org, model, namespace, plane, user_id);
create index embedding_user_idx on loom.embedding (org, user_id, namespace);

alter table loom.embedding enable row level security;
create policy embedding_of_org on loom.embedding to loom_api
  using (org = current_setting('loom.org', true)) with check (org = current_setting('loom.org', true));
create policy embedding_search on loom.embedding for select to loom_search using (true);
-- Listing what lacks a vector and removing those of a retired model goes across orgs.
create policy embedding_scheduling on loom.embedding to loom_scheduler using (true);

