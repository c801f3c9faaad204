create or replace function loom._search_matches(p_org text, p_query tsquery, p_most integer) returns uuid[]
language plpgsql stable security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  -- The words alone inside, as in loom._search_ranked.
  return array(
    with matched as materialized (
      select org, memory_id from loom.memory_text where words @@ p_query limit p_most
    )
    select memory_id from matched where org = p_org);
end
$$;
comment on function loom._search_matches(text, tsquery, integer) is
  'Rows of the org that a query with its scope matches, in no order and at most so many.';
alter function loom._search_matches(text, tsquery, integer) owner to loom_search;
