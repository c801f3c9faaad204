create or replace function loom._scope_lexemes(p_row loom.memory) returns text[]
language plpgsql stable
as $$
declare
  v_plane text := loom._plane_of(p_row.memory_type);
begin
  return array[
    loom._scope_lexeme('n', array[p_row.org::text, p_row.namespace, v_plane]),
    loom._scope_lexeme('u', array[p_row.org::text, p_row.namespace, v_plane, p_row.user_id]),
    loom._scope_lexeme('s', array[p_row.org::text, p_row.namespace, p_row.session_id]),
    loom._scope_lexeme('t', array[p_row.memory_type::text]),
    loom._scope_lexeme('c', array[p_row.source_class::text])
  ] || array(select loom._scope_lexeme('g', array[tag]) from unnest(p_row.tags) as tag);
end
$$;
comment on function loom._scope_lexemes(loom.memory) is
  'What a search can be narrowed by, as lexemes: so that one index answers words and reach, and a small org among large ones reads only its own.';
