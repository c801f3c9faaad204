create or replace function loom._loom_thread_rendered(p_thread loom.loom_thread, p_loom_name text, p_format text) returns text
language plpgsql immutable
as $$
declare
  v_agent text := nullif(p_thread.agent, '-');
  v_user text := nullif(p_thread.user_id, '-');
begin
  if p_format = 'xml' then
    return concat('<thread', ' loom="' || loom._xml_attribute(p_loom_name) || '"',
      ' agent="' || loom._xml_attribute(v_agent) || '"', ' user="' || loom._xml_attribute(v_user) || '"', '>',
      loom._xml_text(p_thread.text), '</thread>');
  end if;
  return concat('## ', loom._markdown_heading(concat_ws(' ', 'thread', 'of ' || p_loom_name, '(agent ' || v_agent || ')',
    '(user ' || v_user || ')')),
    E'\n\n', loom._fence(p_thread.text), E'\n', p_thread.text, E'\n', loom._fence(p_thread.text), E'\n');
end
$$;
comment on function loom._loom_thread_rendered(loom.loom_thread, text, text) is
  'One thread as XML or Markdown, with its loom''s name where that is given, and its agent and user where they are set. No text can end the element or the fence it stands in.';
