create or replace function loom._profile_technologies(p_found text[]) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_named text;
begin
  select string_agg(technology, ', ' order by place) into v_named
  from (
    select min(place) as place, (array_agg(technology order by place))[1] as technology
    from unnest(regexp_split_to_array(array_to_string(p_found, ', '), ', and |, | and | & |/', 'i'))
      with ordinality as listed (technology, place)
    where technology <> ''
    group by lower(technology collate "default")
  ) as once;
  return v_named;
end
$$;
comment on function loom._profile_technologies(text[]) is
  'The technologies of several enumerations, each once, in the order and the spelling in which they were named first.';
