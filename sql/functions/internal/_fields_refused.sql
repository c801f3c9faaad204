create or replace function loom._fields_refused(p_request jsonb, p_accepted text[]) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_unknown text;
begin
  if p_request is null or jsonb_typeof(p_request) <> 'object' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', null, 'reason', 'must be a JSON object')::text,
      hint = 'Send one flat JSON object.';
  end if;
  select min(field collate "C") into v_unknown from jsonb_object_keys(p_request - p_accepted) as field;
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', left(v_unknown, 200), 'reason', 'is not a field of this operation')::text,
    hint = 'Remove the field or correct its name.';
end
$$;
comment on function loom._fields_refused(jsonb, text[]) is
  'The refusal of a request that is no JSON object or has an unknown field, which it names. Always LM001.';
