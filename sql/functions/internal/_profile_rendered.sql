create or replace function loom._profile_rendered(
  p_caller loom.caller, p_labels text[], p_format text, p_own_agent boolean, p_budget integer
) returns loom.rendered
language plpgsql volatile
as $$
declare
  v_rendered loom.rendered;
  v_section loom.memory;
  v_text text;
  v_texts text[] := '{}';
  v_parts jsonb[] := '{}';
  v_omitted jsonb[] := '{}';
  v_room integer := p_budget - case p_format when 'xml' then char_length(E'<profile>\n\n</profile>') else 0 end;
begin
  for v_section in select * from loom._sections(p_caller, p_labels, p_own_agent) loop
    v_text := loom._row_rendered(v_section, p_caller.agent, p_format, 'section');
    if cardinality(v_texts) < 100 and char_length(v_text) <= v_room then
      v_room := v_room - char_length(v_text) - 1;  -- and the newline between
      v_texts := v_texts || v_text;
      v_parts := v_parts || (loom._section_place(v_section)
        || jsonb_build_object('content_sha256', v_section.content_sha256));
    else
      v_omitted := v_omitted || loom._section_place(v_section);
    end if;
  end loop;
  v_rendered.body := array_to_string(v_texts, E'\n');
  if p_format = 'xml' and v_texts <> '{}' then
    v_rendered.body := E'<profile>\n' || v_rendered.body || E'\n</profile>';
  end if;
  v_rendered.parts := to_jsonb(v_parts);
  v_rendered.omitted := to_jsonb(v_omitted[1:100]);
  v_rendered.omitted_count := cardinality(v_omitted);
  return v_rendered;
end
$$;
comment on function loom._profile_rendered(loom.caller, text[], text, boolean, integer) is
  'The sections in reach as one text of at most so many characters: whole sections in their order, as far as each fits, 100 at most; and what was left out.';
