-- What context.pack is put together from. It stores nothing.

create type loom.placed_block as (
  block_key text collate "C",
  content text,
  layer text,
  content_sha256 text collate "C",
  fill_ratio numeric
);
comment on type loom.placed_block is 'A block of working memory as it renders, and the layer it was found in.';

create type loom.pack_plan as (
  names text[],
  token_budget integer,
  section_token_budgets jsonb,
  format text,
  labels text[],
  session_block text,
  language text,
  loom_ids uuid[],
  -- What the query found, best first, and how it was looked for; null where nothing was.
  found loom.found_memory[],
  legs jsonb
);
comment on type loom.pack_plan is 'What a context.pack asks for: its sections in their order, their budgets, and what goes into each.';

create type loom.pack_item as (
  body text,
  item jsonb
);
comment on type loom.pack_item is 'One item of a section: its text, whole or not at all, and how the answer names it.';

create type loom.pack_section as (
  name text,
  body text,
  -- Of a token, as the body is taken for.
  quarters bigint,
  items jsonb,
  omitted jsonb,
  omitted_count bigint
);
comment on type loom.pack_section is 'A section of a pack: its text and size, what it is made of, and what was left out.';
