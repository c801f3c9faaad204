create or replace function loom._markdown_heading(p_text text) returns text
language plpgsql immutable strict parallel safe
as $$
begin
  return btrim(regexp_replace(p_text, E'[\u0001-\u001F\u007F\u0085\u2028\u2029]+' collate "C", ' ', 'g'));
end
$$;
comment on function loom._markdown_heading(text) is
  'A key as the text of a Markdown heading: line breaks and control characters become spaces, so that it stays one line.';
