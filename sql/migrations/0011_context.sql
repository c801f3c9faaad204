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
  -- Null where nothing is to be found.
  query text,
  names text[],
  token_budget integer,
  section_token_budgets jsonb,
  format text,
  labels text[],
  session_block text,
  language text,
  loom_ids uuid[]
);
comment on type loom.pack_plan is 'What a context.pack asks for: its sections in their order, their budgets, and what goes into each.';

create type loom.pack_item as (
  body text,
  item jsonb
);
comment on type loom.pack_item is 'One item of a section: its text, whole or not at all, and how the answer names it.';

create type loom.pack_offer as (
  bodies text[],
  items jsonb[]
);
comment on type loom.pack_offer is 'What might stand in a section, in its order: the text of each item, and how the answer names it. Null where nothing might.';

create type loom.pack_section as (
  body text,
  -- Of a token, as the body is taken for.
  quarters bigint,
  part jsonb
);
comment on type loom.pack_section is 'A section of a pack: its text and size, and what the answer says of it.';
