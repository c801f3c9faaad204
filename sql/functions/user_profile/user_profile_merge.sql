create or replace function loom.user_profile_merge(p_profile jsonb, p_delta jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_facts jsonb;
  v_traits jsonb := p_profile -> 'traits' || loom._opinions(p_delta -> 'traits');
  v_preferences jsonb := p_profile -> 'preferences' || loom._opinions(p_delta -> 'preferences');
begin
  -- The facts of before and the operations are one story in which each fact of before was added first.
  -- Of a key counts what came after it was last forgotten: it stands where it was first added since,
  -- and has the value that it was given last.
  select coalesce(jsonb_agg(jsonb_build_object('key', key, 'value', value) order by place), '[]') into v_facts
  from (
    select key, min(place) as place, (array_agg(value order by place desc))[1] as value
    from (
      select fact, fact ->> 'key' as key, fact ->> 'value' as value, place,
        max(place) filter (where fact ->> 'op' = 'forget') over (partition by fact ->> 'key') as forgotten
      from jsonb_array_elements(p_profile -> 'facts' || coalesce(nullif(p_delta -> 'fact_ops', 'null'), '[]'))
        with ordinality as told (fact, place)
    ) as story
    where coalesce(fact ->> 'op', '') <> 'forget' and value <> '' and place > coalesce(forgotten, 0)
    group by key
  ) as kept;
  if jsonb_typeof(p_delta -> 'topics') = 'array' then
    select jsonb_set(v_preferences, '{topics}', coalesce(jsonb_agg(topic order by place), '[]')) into v_preferences
    from (
      select topic, min(place) as place
      from jsonb_array_elements_text(p_delta -> 'topics') with ordinality as named (topic, place)
      where topic <> '' group by topic
    ) as once;
  end if;
  return jsonb_build_object('facts', v_facts, 'traits', v_traits, 'preferences', v_preferences,
    'summary', coalesce(nullif(p_delta ->> 'summary', ''), p_profile ->> 'summary'));
end
$$;
comment on function loom.user_profile_merge(jsonb, jsonb) is
  'A user profile with a checked delta merged into it. Null and empty say nothing: only forget removes a fact, and only an empty list of topics the topics. Operations count in their order; a fact that is changed keeps its place, one that was forgotten and comes back stands last. Merging the same delta again changes nothing, unless it forgets a fact and adds it anew.';
