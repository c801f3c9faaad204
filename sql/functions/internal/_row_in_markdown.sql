create or replace function loom._row_in_markdown(
  p_key text, p_agent text, p_user_id text, p_session_id text, p_text text
) returns text
language plpgsql stable parallel safe
as $$
declare
  v_fence text := loom._fence(p_text);
begin
  return concat('## ', loom._markdown_heading(concat(p_key, ' (agent ' || p_agent || ')',
    ' (user ' || p_user_id || ')', ' (session ' || p_session_id || ')')),
    E'\n\n', v_fence, E'\n', p_text, E'\n', v_fence, E'\n');
end
$$;
comment on function loom._row_in_markdown(text, text, text, text, text) is
  'A row as Markdown, fenced so that its text cannot end it, with its agent, user and session where they are given.';
