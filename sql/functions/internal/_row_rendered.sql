create or replace function loom._row_rendered(p_row loom.memory, p_agent text, p_format text, p_element text)
returns text
language sql stable
as $$
  select case p_format
    when 'xml' then concat('<', p_element, case p_element when 'section' then ' label="' else ' key="' end,
      loom._xml_attribute(p_row.memory_key), '"',
      case when p_row.agent <> p_agent then ' agent="' || loom._xml_attribute(p_row.agent) || '"' end,
      case when p_row.user_id <> '-' then ' user="' || loom._xml_attribute(p_row.user_id) || '"' end,
      case when p_row.session_id <> '-' then ' session="' || loom._xml_attribute(p_row.session_id) || '"' end,
      '>', loom._xml_text(loom._row_text(p_row.value)), '</', p_element, '>')
    else loom._row_in_markdown(p_row.memory_key, p_row.agent, p_row.user_id, p_row.session_id, p_row.value, p_agent)
  end
$$;
comment on function loom._row_rendered(loom.memory, text, text, text) is
  'One memory row as an XML element of that name or as Markdown, with its agent where it is another than the caller''s, and its user and session where they are set. A string is its text, any other value canonical JSON.';
