create or replace function loom._structured_profile_value(p_schema jsonb, p_answer jsonb) returns jsonb
language plpgsql immutable
as $$
declare
  v_properties jsonb := p_schema -> 'properties';
  v_answer jsonb := coalesce(nullif(p_answer, 'null'), '{}');
  v_nulls jsonb;
begin
  if jsonb_typeof(v_answer) <> 'object'
    or exists (select from jsonb_object_keys(v_answer) as key where not v_properties ? key) then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_answer', 'reason', 'must be an object of declared properties')::text,
      hint = 'Hold the answer to the schema before it is written.';
  end if;
  select coalesce(jsonb_object_agg(key, null), '{}') into v_nulls from jsonb_object_keys(v_properties) as key;
  return v_nulls || v_answer;
end
$$;
comment on function loom._structured_profile_value(jsonb, jsonb) is
  'A profile in the shape of the schema: every property, null where the answer says nothing. LM001 for an undeclared one.';
