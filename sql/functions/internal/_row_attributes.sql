create or replace function loom._row_attributes(
  p_element text, p_key text, p_agent text, p_user_id text, p_session_id text
) returns text
language sql stable parallel safe
as $$
  select case
    -- Ids are nearly always plain; one look at all of them is cheaper than to escape each.
    when concat(p_key, p_agent, p_user_id, p_session_id) ~ '[^A-Za-z0-9 _.:@/-]' collate "C" then
      loom._row_attributes_escaped(p_element, p_key, p_agent, p_user_id, p_session_id)
    else concat(case p_element when 'section' then ' label="' else ' key="' end, p_key, '"',
      ' agent="' || p_agent || '"', ' user="' || p_user_id || '"', ' session="' || p_session_id || '"')
  end
$$;
comment on function loom._row_attributes(text, text, text, text, text) is
  'The attributes of the element a row is: its key, and its agent, user and session where they are given.';
