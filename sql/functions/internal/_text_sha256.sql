create or replace function loom._text_sha256(p_text text) returns text
language sql stable parallel safe
as $$
  select encode(sha256(convert_to(p_text, 'UTF8')), 'hex')
$$;
comment on function loom._text_sha256(text) is
  'As loom._sha256, for what is not stored: PostgreSQL calls convert_to stable, so that only a stable function of it can be inlined.';
