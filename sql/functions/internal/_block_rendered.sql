create or replace function loom._block_rendered(p_block_key text, p_content text, p_format text) returns text
language sql immutable parallel safe
as $$
  select case p_format
    when 'xml' then
      '<working-memory block="' || loom._xml_attribute(p_block_key) || '">' || loom._xml_text(p_content) || '</working-memory>'
    else loom._block_in_markdown(p_block_key, p_content)
  end
$$;
comment on function loom._block_rendered(text, text, text) is
  'One block as XML or Markdown. Neither key nor text can end the element, the heading or the fence it stands in.';
