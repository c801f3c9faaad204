create or replace function loom._block_in_markdown(p_block_key text, p_content text) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  v_fence text := loom._fence(p_content);
begin
  return '## ' || loom._markdown_heading(p_block_key) || E'\n\n' || v_fence || E'\n' || p_content
    || E'\n' || v_fence || E'\n';
end
$$;
comment on function loom._block_in_markdown(text, text) is 'A block as Markdown, fenced so that its content cannot end it.';
