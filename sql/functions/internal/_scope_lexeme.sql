create or replace function loom._scope_lexeme(p_kind text, p_parts text[]) returns text
language sql stable strict parallel safe
as $$
  select E'\x01' || p_kind || left(md5(p_parts::text), 16)
$$;
comment on function loom._scope_lexeme(text, text[]) is
  'A lexeme that no word equals, since no word has a control character: whose row it is, its type, its class, a tag. It narrows what the index reads; who may see a row is said by its columns.';
