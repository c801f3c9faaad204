create or replace function loom._any_lexeme(p_lexemes text[]) returns tsquery
language plpgsql immutable strict parallel safe
set search_path = loom, pg_temp
as $$
begin
  -- Quoted, so that no sign of the query language in it means anything.
  return (
    select string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ' order by lexeme)
    from unnest(p_lexemes) as lexeme)::tsquery;
end
$$;
comment on function loom._any_lexeme(text[]) is 'Matches what has any of the lexemes, whatever signs are in them.';
