create or replace function loom._one_line(p_text text) returns text
language sql immutable strict parallel safe
as $$
  select btrim(regexp_replace(p_text,
    E'[ \\t]*[\\n\\r\\u000B\\u000C\\u001C-\\u001E\\u0085\\u2028\\u2029]+[ \\t\\n\\r\\u000B\\u000C\\u001C-\\u001E\\u0085\\u2028\\u2029]*',
    ' ', 'g'), ' ')
$$;
comment on function loom._one_line(text) is
  'A text in one line: whatever a reader might take for a line break is a space, so that no value begins a line of its own.';
