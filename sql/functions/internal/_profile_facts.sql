create or replace function loom._profile_facts(p_texts text[]) returns jsonb
language plpgsql stable parallel safe
as $$
declare
  -- What stands in quotation marks somebody else may have said. The unit separator stands between messages:
  -- no pattern reaches over it.
  v_said text := regexp_replace(array_to_string(p_texts, E'\x1f'),
    E'"[^"\n\x1f]*"|“[^”\n\x1f]*”|«[^»\n\x1f]*»|„[^“”\n\x1f]*[“”]', ' ', 'g') collate "default";
  v_lower text := lower(v_said);
  v_pattern loom.profile_pattern;
  v_found text[];
  v_value text;
  v_facts jsonb := '[]';
begin
  for v_pattern in select * from loom.profile_pattern where strpos(v_lower, holds) > 0 order by place loop
    v_found := array(
      select regexp_replace(btrim(said[2]), E'[ \t\r\n]+', ' ', 'g')
      from regexp_matches(v_said, v_pattern.pattern, 'gi') with ordinality as matched (said, nth)
      where said[1] = '' order by nth);
    v_value := case v_pattern.fact_key
      when 'tech_stack' then loom._profile_technologies(v_found)
      when 'name' then loom._profile_name(v_found)
      else v_found[cardinality(v_found)] end;
    if v_value is not null then
      v_facts := v_facts || jsonb_build_object('op', 'add', 'key', v_pattern.fact_key, 'value', v_value);
    end if;
  end loop;
  return v_facts;
end
$$;
comment on function loom._profile_facts(text[]) is
  'What users say of themselves in English in the first person: operations that add role, tech_stack, name and timezone. What is said last counts; technologies are named together.';
