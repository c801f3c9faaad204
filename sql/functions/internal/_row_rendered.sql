create or replace function loom._row_rendered(p_row loom.memory, p_agent text, p_format text, p_element text)
returns text
language plpgsql immutable
as $$
declare
  v_key text := p_row.memory_key;
  v_agent text := case when p_row.agent <> p_agent then p_row.agent end;
  v_user text := nullif(p_row.user_id, '-');
  v_session text := nullif(p_row.session_id, '-');
  v_text text := case jsonb_typeof(p_row.value) when 'string' then p_row.value #>> '{}'
    else loom._canonical(p_row.value, '$.value') end;
begin
  if p_format = 'xml' then
    -- Ids are nearly always plain; one look at all of them is cheaper than to escape each.
    if concat(v_key, v_agent, v_user, v_session) ~ '[^A-Za-z0-9 _.:@/-]' collate "C" then
      v_key := loom._xml_attribute(v_key);
      v_agent := loom._xml_attribute(v_agent);
      v_user := loom._xml_attribute(v_user);
      v_session := loom._xml_attribute(v_session);
    end if;
    return concat('<', p_element, case p_element when 'section' then ' label="' else ' key="' end, v_key, '"',
      ' agent="' || v_agent || '"', ' user="' || v_user || '"', ' session="' || v_session || '"',
      '>', loom._xml_text(v_text), '</', p_element, '>');
  end if;
  return concat('## ', loom._markdown_heading(concat(v_key, ' (agent ' || v_agent || ')',
    ' (user ' || v_user || ')', ' (session ' || v_session || ')')),
    E'\n\n', loom._fence(v_text), E'\n', v_text, E'\n', loom._fence(v_text), E'\n');
end
$$;
comment on function loom._row_rendered(loom.memory, text, text, text) is
  'One memory row as an XML element of that name or as Markdown, with its agent where it is another than the caller''s, and its user and session where they are set. A string is its text, any other value canonical JSON.';
