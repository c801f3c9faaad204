create or replace function loom._user_profile_given(p_request jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_profile jsonb := p_request -> 'profile';
  v_facts jsonb;
begin
  if coalesce(jsonb_typeof(v_profile), 'null') <> 'object' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'profile', 'reason',
        case when coalesce(v_profile, 'null') = 'null' then 'is required' else 'must be an object' end)::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  v_profile := loom._check_fields(v_profile, '{facts,traits,preferences,summary}');
  v_facts := coalesce(nullif(v_profile -> 'facts', 'null'), '[]');
  if jsonb_typeof(v_facts) <> 'array' or jsonb_path_exists(v_facts, 'strict $[*] ? (@.type() != "object")') then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'facts', 'reason', 'must be a list of objects')::text,
      hint = 'Each fact has a key and a value.';
  end if;
  select coalesce(jsonb_agg(loom._check_fields(fact, '{key,value}') || '{"op": "add"}' order by place), '[]') into v_facts
  from jsonb_array_elements(v_facts) with ordinality as listed (fact, place);
  return loom._user_profile_delta(v_profile - 'facts'
    || jsonb_build_object('fact_ops', v_facts, 'source', p_request -> 'source'));
end
$$;
comment on function loom._user_profile_given(jsonb) is
  'A whole profile of a request, checked, as the delta that makes it of the empty one. LM001, LM406.';
