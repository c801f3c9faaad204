create or replace function loom._search_crowded(p_org text, p_scope tsquery, p_terms tsquery[], p_most integer)
returns tsquery[]
language plpgsql stable security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_all tsquery := p_terms[1];
  v_term tsquery;
  v_queries tsquery[];
  v_found bigint;
begin
  foreach v_term in array p_terms[2:] loop
    v_all := v_all && v_term;
  end loop;
  v_queries := array[p_scope && v_all];
  with matched as materialized (
    select org from loom.memory_text where words @@ v_queries[1] limit p_most
  )
  select count(*) into v_found from matched where org = p_org;
  if v_found >= p_most / 2 then
    return v_queries;  -- none with fewer words comes before them
  end if;
  foreach v_term in array p_terms loop
    v_queries := v_queries || (p_scope && v_term);
  end loop;
  return v_queries;
end
$$;
comment on function loom._search_crowded(text, tsquery, tsquery[], integer) is
  'What full text ranks where more rows have a word of the query than can be ranked: those that have all words, and where these are few, for each word a share of those that have it: a row with a word that is rarer than that is always among them, however common the others are.';
alter function loom._search_crowded(text, tsquery, tsquery[], integer) owner to loom_search;
