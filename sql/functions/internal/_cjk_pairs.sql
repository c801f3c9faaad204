create or replace function loom._cjk_pairs(p_runs text[]) returns text[]
language plpgsql immutable strict parallel safe
as $$
begin
  -- A run of one character is its own pair. The number is bounded, since a row's lexemes must fit into a megabyte.
  return array(
    select distinct pair from (
      select sign || coalesce(lead(sign) over (partition by run order by place), '') as pair,
        place = count(*) over (partition by run) and place > 1 as is_last
      from unnest(p_runs) with ordinality as runs (characters, run)
      cross join lateral unnest(string_to_array(characters, null)) with ordinality as signs (sign, place)
      limit 20000
    ) as pairs
    where not is_last);
end
$$;
comment on function loom._cjk_pairs(text[]) is
  'Overlapping pairs of the characters of each run, of 20,000 characters at most: what text without spaces is found by.';
