create or replace function loom._xml_attribute_escaped(p_text text) returns text
language plpgsql immutable parallel safe
as $$
begin
  -- A parser would read bare newlines and tabs in an attribute as spaces.
  return replace(replace(replace(loom._xml_text(p_text), '"', '&quot;'), E'\n', '&#10;'), E'\t', '&#9;');
end
$$;
comment on function loom._xml_attribute_escaped(text) is 'An attribute that may hold what XML must have escaped.';
