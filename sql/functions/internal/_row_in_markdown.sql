create or replace function loom._row_in_markdown(
  p_key text, p_agent text, p_user_id text, p_session_id text, p_value jsonb, p_callers_agent text
) returns text
language plpgsql stable parallel safe
as $$
declare
  v_text text := loom._row_text(p_value);
  v_fence text := loom._fence(v_text);
begin
  return concat('## ', loom._markdown_heading(concat(p_key,
    case when p_agent <> p_callers_agent then ' (agent ' || p_agent || ')' end,
    case when p_user_id <> '-' then ' (user ' || p_user_id || ')' end,
    case when p_session_id <> '-' then ' (session ' || p_session_id || ')' end)),
    E'\n\n', v_fence, E'\n', v_text, E'\n', v_fence, E'\n');
end
$$;
comment on function loom._row_in_markdown(text, text, text, text, jsonb, text) is
  'A row as Markdown, fenced so that its text cannot end it, named as loom._row_rendered names it.';
