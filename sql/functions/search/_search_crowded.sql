create or replace function loom._search_crowded(p_org text, p_scope tsquery, p_terms tsquery[], p_most integer)
returns uuid[]
language plpgsql stable security definer
set search_path = loom, pg_temp
as $$
declare
  v_all tsquery := p_terms[1];
  v_term tsquery;
  v_ids uuid[];
begin
  foreach v_term in array p_terms[2:] loop
    v_all := v_all && v_term;
  end loop;
  v_ids := loom._search_matches(p_org, p_scope && v_all, p_most);
  if cardinality(v_ids) >= p_most / 2 then
    return v_ids;  -- none with fewer words comes before them
  end if;
  foreach v_term in array p_terms loop
    v_ids := v_ids || loom._search_matches(p_org, p_scope && v_term, greatest(p_most / cardinality(p_terms), 100));
  end loop;
  return array(select distinct id from unnest(v_ids) as id);
end
$$;
comment on function loom._search_crowded(text, tsquery, tsquery[], integer) is
  'The rows that full text ranks where more have a word of the query than can be ranked: so many that have all words, and where these are few, for each word an equal share of those that have it: a row with a word that is rarer than that is always among them, however common the others are.';
alter function loom._search_crowded(text, tsquery, tsquery[], integer) owner to loom_search;
