create or replace function loom._user_profile_delta(p_delta jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_delta jsonb;
  v_ok boolean;
begin
  if coalesce(jsonb_typeof(p_delta), 'null') <> 'object' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'delta', 'reason',
        case when coalesce(p_delta, 'null') = 'null' then 'is required' else 'must be an object' end)::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  v_delta := loom._check_fields(p_delta, '{fact_ops,traits,preferences,topics,summary,source}');
  v_ok := loom._user_profile_settings(v_delta);
  v_ok := loom._user_profile_topics(v_delta -> 'topics');
  if v_delta -> 'preferences' ? 'topics' then
    v_ok := loom._user_profile_topics(v_delta #> '{preferences,topics}');
    -- They may stand in either place, and mean the same.
    v_delta := jsonb_set(v_delta #- '{preferences,topics}', '{topics}',
      coalesce(nullif(v_delta -> 'topics', 'null'), v_delta #> '{preferences,topics}'));
  end if;
  perform loom._bounded_text(v_delta, 'summary', 4000);
  perform loom._bounded_text(v_delta, 'source', 200);
  if coalesce(v_delta -> 'fact_ops', 'null') <> 'null' then
    v_delta := v_delta || jsonb_build_object('fact_ops', loom._user_profile_ops(v_delta -> 'fact_ops', 'fact_ops'));
  end if;
  return v_delta;
end
$$;
comment on function loom._user_profile_delta(jsonb) is
  'A delta, checked: what loom.user_profile_merge takes. Errors: LM001, LM406.';
