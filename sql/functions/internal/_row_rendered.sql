create or replace function loom._row_rendered(p_row loom.memory, p_agent text, p_format text, p_element text)
returns text
language plpgsql immutable
set search_path = loom, pg_temp
as $$
declare
  v_agent text := case when p_row.agent <> p_agent then p_row.agent end;
  v_user text := nullif(p_row.user_id, '-');
  v_session text := nullif(p_row.session_id, '-');
  v_text text := case jsonb_typeof(p_row.value) when 'string' then p_row.value #>> '{}'
    else loom._canonical(p_row.value, '$.value') end;
begin
  if p_format = 'xml' then
    return concat('<', p_element, case p_element when 'section' then ' label="' else ' key="' end,
      loom._xml_attribute(p_row.memory_key), '"',
      ' agent="' || loom._xml_attribute(v_agent) || '"', ' user="' || loom._xml_attribute(v_user) || '"',
      ' session="' || loom._xml_attribute(v_session) || '"', '>', loom._xml_text(v_text), '</', p_element, '>');
  end if;
  return concat('## ', loom._markdown_heading(concat(p_row.memory_key, ' (agent ' || v_agent || ')',
    ' (user ' || v_user || ')', ' (session ' || v_session || ')')),
    E'\n\n', loom._fence(v_text), E'\n', v_text, E'\n', loom._fence(v_text), E'\n');
end
$$;
comment on function loom._row_rendered(loom.memory, text, text, text) is
  'One memory row as an XML element of that name or as Markdown, with its agent where it is another than the caller''s, and its user and session where they are set. A string is its text, any other value canonical JSON.';
