create or replace function loom._user_profile_body(p_profile jsonb, p_format text, p_language text) returns text
language plpgsql stable parallel safe
as $$
declare
  v_text text;
begin
  select string_agg(case
      when p_format <> 'xml' then '- ' || loom._one_line(name) || ': ' || loom._one_line(value)
      when element in ('summary', 'topics') then
        '<' || element || '>' || loom._xml_text(loom._one_line(value)) || '</' || element || '>'
      else '<' || element || ' name="' || loom._xml_attribute(name) || '">' || loom._xml_text(loom._one_line(value))
        || '</' || element || '>' end, E'\n' order by place, nth)
  into v_text
  from (
    select 1 as place, nth, 'fact' as element, fact ->> 'key' as name, fact ->> 'value' as value
    from jsonb_array_elements(p_profile -> 'facts') with ordinality as told (fact, nth)
    union all
    select 2, nth, 'trait', trait, p_profile -> 'traits' ->> trait
    from unnest('{style,expertise,verbosity,formality}'::text[]) with ordinality as known (trait, nth)
    union all
    select 3, nth, 'preference', preference, p_profile -> 'preferences' ->> preference
    from unnest('{format,language}'::text[]) with ordinality as known (preference, nth)
    union all
    select 4, 1, 'topics', 'topics', string_agg(topic, ', ' order by nth)
    from jsonb_array_elements_text(p_profile -> 'preferences' -> 'topics') with ordinality as named (topic, nth)
    union all
    select 5, 1, 'summary', 'summary', nullif(p_profile ->> 'summary', '')
  ) as line
  where value is not null;
  if v_text is null then
    return '';
  end if;
  if p_format = 'xml' then
    return E'<user-profile>\n' || v_text || E'\n</user-profile>';
  end if;
  return loom._section_header('user_profile', p_language) || E'\n' || v_text;
end
$$;
comment on function loom._user_profile_body(jsonb, text, text) is
  'A profile as a fragment of a prompt, one line each: facts in their order, traits, preferences, topics, summary. A pure function of its content; of an empty profile it is empty.';
