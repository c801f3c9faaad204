create or replace function loom._row_attributes_escaped(
  p_element text, p_key text, p_agent text, p_user_id text, p_session_id text
) returns text
language plpgsql stable parallel safe
as $$
begin
  return concat(case p_element when 'section' then ' label="' else ' key="' end, loom._xml_attribute(p_key), '"',
    ' agent="' || loom._xml_attribute(p_agent) || '"', ' user="' || loom._xml_attribute(p_user_id) || '"',
    ' session="' || loom._xml_attribute(p_session_id) || '"');
end
$$;
comment on function loom._row_attributes_escaped(text, text, text, text, text) is
  'The attributes of the element a row is, where an id may hold what XML must have escaped.';
