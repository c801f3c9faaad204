create or replace function loom._pack_part(
  p_name text, p_body text, p_quarters bigint, p_items jsonb[], p_omitted jsonb[]
) returns jsonb
language sql stable parallel safe
as $$
  select jsonb_build_object('name', p_name, 'text', p_body, 'tokens', (p_quarters + 3) / 4,
    'sha256', loom._text_sha256(p_body), 'items', coalesce(p_items, '{}'), 'omitted', p_omitted[:100],
    'omitted_count', cardinality(p_omitted))
$$;
comment on function loom._pack_part(text, text, bigint, jsonb[], jsonb[]) is
  'What the answer says of a section: its text, what it is made of, and what was left out (the first 100).';
