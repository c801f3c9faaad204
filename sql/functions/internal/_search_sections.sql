create or replace function loom._search_sections(p_caller loom.caller, p_asked loom.search_query, p_limit integer)
returns jsonb
language plpgsql volatile
as $$
declare
  v_filter loom.search_filter := row('profile', null, null, null)::loom.search_filter;
  v_sections loom.memory[] := array(select section from loom._sections(p_caller, null, false) as section);
begin
  return coalesce((
    select jsonb_agg(loom._section_item(section) || jsonb_build_object('value', (section).value, 'score', score, 'legs', legs)
      order by place) filter (where before < 1000000)
    from (
      select listed.*, row_number() over best as place,
        sum((section).value_length) over best - (section).value_length as before
      from (
        select section, score, coalesce(legs, '{}') as legs, number
        from (
          select v_sections[number] as section, number from generate_subscripts(v_sections, 1) as number
        ) as present
        left join loom._search_found(p_caller, v_filter, p_asked, 100) as hit
          on (hit.memory).memory_id = (section).memory_id
        order by score desc nulls last, number
        limit p_limit
      ) as listed
      window best as (order by score desc nulls last, number)
    ) as page), '[]');
end
$$;
comment on function loom._search_sections(loom.caller, loom.search_query, integer) is
  'The profile sections in reach: those that the query finds, best first, then the others as they render, since a question about a user may share no word with what is known of them.';
