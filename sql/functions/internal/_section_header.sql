create or replace function loom._section_header(p_section text, p_language text) returns text
language plpgsql stable parallel safe
as $$
declare
  v_language text := split_part(replace(lower(coalesce(p_language, 'en')), '_', '-'), '-', 1);
  v_header text;
begin
  select header into v_header from loom.section_header
  where section = p_section and language in (v_language, 'en')
  order by language = v_language desc limit 1;
  return v_header;
end
$$;
comment on function loom._section_header(text, text) is
  'The header of a section in a language (de, de-AT), in English where there is none in it.';
