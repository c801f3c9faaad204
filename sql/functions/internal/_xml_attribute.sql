create or replace function loom._xml_attribute(p_text text) returns text
language sql immutable parallel safe
as $$
  -- A parser would read bare newlines and tabs in an attribute as spaces.
  select replace(replace(replace(loom._xml_text(p_text),
    '"', '&quot;'), E'\n', '&#10;'), E'\t', '&#9;')
$$;
comment on function loom._xml_attribute(text) is 'A text escaped for a double-quoted XML 1.0 attribute.';
