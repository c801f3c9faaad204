create or replace function loom._block_rendered(p_block_key text, p_content text, p_format text) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  v_fence text;
begin
  if p_format = 'xml' then
    return '<working-memory block="' || loom._xml_attribute(p_block_key) || '">'
      || loom._xml_text(p_content) || '</working-memory>';
  end if;
  v_fence := loom._fence(p_content);
  return '## ' || loom._markdown_heading(p_block_key) || E'\n\n' || v_fence || E'\n' || p_content
    || E'\n' || v_fence || E'\n';
end
$$;
comment on function loom._block_rendered(text, text, text) is
  'One block as XML or Markdown. Neither key nor text can end the element, the heading or the fence it stands in.';
