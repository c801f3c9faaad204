create or replace function loom._xml_attribute(p_text text) returns text
language sql immutable parallel safe
as $$
  -- Keys and ids are nearly always plain, and to look is cheaper than to escape.
  select case when p_text ~ '[^A-Za-z0-9 _.:@/-]' collate "C" then loom._xml_attribute_escaped(p_text) else p_text end
$$;
comment on function loom._xml_attribute(text) is 'A text escaped for a double-quoted XML 1.0 attribute.';
