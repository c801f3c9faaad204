create or replace function loom._namespace_language(p_org text, p_namespace text) returns text
language plpgsql stable
as $$
declare
  v_language text;
begin
  select text_search_language into v_language from loom.namespace where org = p_org and name = p_namespace;
  return coalesce(v_language, 'simple');
end
$$;
comment on function loom._namespace_language(text, text) is
  'The text search configuration of a namespace; simple for one that has no row yet.';
