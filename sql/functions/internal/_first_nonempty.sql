create or replace function loom._first_nonempty(p_first jsonb, p_second jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_ops jsonb := coalesce(nullif(p_first -> 'fact_ops', 'null'), '[]');
  v_more jsonb;
begin
  select coalesce(jsonb_agg(op order by place), '[]') into v_more
  from jsonb_array_elements(coalesce(nullif(p_second -> 'fact_ops', 'null'), '[]')) with ordinality as told (op, place)
  where not exists (select from jsonb_array_elements(v_ops) as said where said ->> 'key' = op ->> 'key'
    and (said ->> 'op' = 'forget' or said ->> 'value' <> ''));
  return jsonb_build_object('fact_ops', v_ops || v_more,
    'traits', loom._opinions(p_second -> 'traits') || loom._opinions(p_first -> 'traits'),
    'preferences', loom._opinions(p_second -> 'preferences') || loom._opinions(p_first -> 'preferences'),
    'topics', coalesce(nullif(p_first -> 'topics', 'null'), p_second -> 'topics'),
    'summary', coalesce(nullif(p_first ->> 'summary', ''), p_second ->> 'summary'),
    'source', concat_ws(',', nullif(p_first ->> 'source', ''), nullif(p_second ->> 'source', '')));
end
$$;
comment on function loom._first_nonempty(jsonb, jsonb) is
  'Two checked deltas as one: of each fact, trait, preference, of topics and summary the word of the first that says anything of it.';
