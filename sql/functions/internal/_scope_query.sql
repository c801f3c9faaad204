create or replace function loom._scope_query(p_caller loom.caller, p_filter loom.search_filter) returns tsquery
language plpgsql immutable
as $$
declare
  v_place text[] := array[p_caller.org, p_caller.namespace, p_filter.plane];
  v_who text;
  v_lexemes text[] := '{}';
  v_query tsquery;
  v_tag text;
begin
  if p_caller.users is null then
    v_lexemes := array[loom._scope_lexeme('n', v_place)];
  else
    foreach v_who in array p_caller.users loop
      v_lexemes := v_lexemes || loom._scope_lexeme('u', v_place || v_who);
    end loop;
  end if;
  v_query := loom._any_lexeme(v_lexemes);
  if p_caller.sessions is not null then
    v_query := v_query && loom._any_lexeme(array(
      select loom._scope_lexeme('s', array[p_caller.org, p_caller.namespace, session]) from unnest(p_caller.sessions) as session));
  end if;
  if p_filter.types is not null then
    v_query := v_query && loom._any_lexeme(array(select loom._scope_lexeme('t', array[kind]) from unnest(p_filter.types) as kind));
  end if;
  if p_filter.source_class is not null then
    v_query := v_query && loom._any_lexeme(array[loom._scope_lexeme('c', array[p_filter.source_class])]);
  end if;
  foreach v_tag in array coalesce(p_filter.tags, '{}') loop
    v_query := v_query && loom._any_lexeme(array[loom._scope_lexeme('g', array[v_tag])]);
  end loop;
  return v_query;
end
$$;
comment on function loom._scope_query(loom.caller, loom.search_filter) is
  'Matches what a search may find at all, by the lexemes of loom._scope_lexemes.';
