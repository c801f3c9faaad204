create or replace function loom._any_lexeme(p_lexemes text[]) returns tsquery
language plpgsql immutable strict parallel safe
as $$
declare
  v_lexeme text;
  v_any tsquery;
begin
  foreach v_lexeme in array p_lexemes loop
    -- Quoted, so that no sign of the query language in it means anything.
    v_lexeme := '''' || replace(replace(v_lexeme, '\', '\\'), '''', '''''') || '''';
    v_any := coalesce(v_any || v_lexeme::tsquery, v_lexeme::tsquery);
  end loop;
  return v_any;
end
$$;
comment on function loom._any_lexeme(text[]) is 'Matches what has any of the lexemes, whatever signs are in them.';
