create or replace function loom._prose(p_text text) returns text
language plpgsql immutable strict parallel safe
as $$
begin
  -- Code first: a line of it may begin like a quotation.
  p_text := regexp_replace(p_text, '```.*?(?:```|$)', ' ', 'g');
  p_text := regexp_replace(p_text, E'`[^`\n]*`', ' ', 'g');
  p_text := regexp_replace(p_text, E'(^|\n)[ \t]*>[^\n]*', E'\\1', 'g');
  return btrim(p_text, E' \t\r\n');
end
$$;
comment on function loom._prose(text) is 'Of a message the user''s own prose: without code and without quoted lines.';
