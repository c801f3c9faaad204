create or replace function loom._pack_names(p_request jsonb, p_field text) returns text[]
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := p_request -> p_field;
  v_known text[] := loom._pack_sections();
  v_names text[];
begin
  if v_value is null or v_value = 'null' then
    return null;
  end if;
  perform loom._check_strings(v_value, p_field);
  v_names := array(select jsonb_array_elements_text(v_value));
  if not v_names <@ v_known then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', p_field,
        'reason', 'must name sections of a pack: ' || array_to_string(v_known, ', '))::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return v_names;
end
$$;
comment on function loom._pack_names(jsonb, text) is
  'A field that lists sections of a pack; null when left out. LM001 for a section that is not known.';
