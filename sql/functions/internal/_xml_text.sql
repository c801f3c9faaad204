create or replace function loom._xml_text(p_text text) returns text
language sql immutable parallel safe
as $$
  -- XML 1.0 has no way to write these characters. A parser would read a bare carriage return as a newline.
  select replace(replace(replace(replace(
    regexp_replace(p_text, E'[\u0001-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]' collate "C", E'\uFFFD', 'g'),
    '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), E'\r', '&#13;')
$$;
comment on function loom._xml_text(text) is
  'A text escaped for XML 1.0 content; characters that XML cannot carry become U+FFFD.';
