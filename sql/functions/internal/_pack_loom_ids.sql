create or replace function loom._pack_loom_ids(p_request jsonb) returns uuid[]
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := p_request -> 'include_looms';
begin
  if v_value is null or v_value = 'null' then
    return null;
  end if;
  perform loom._check_strings(v_value, 'include_looms');
  if jsonb_array_length(v_value) > 20 then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'include_looms', 'limit', 20, 'value', jsonb_array_length(v_value))::text,
      hint = 'Name fewer looms.';
  end if;
  return array(
    select loom._uuid(jsonb_build_object('include_looms', named.id), 'include_looms')
    from jsonb_array_elements_text(v_value) with ordinality as named (id, place) order by place);
end
$$;
comment on function loom._pack_loom_ids(jsonb) is
  'The looms a pack is to tell of, in their order; null when left out. LM001 for what is no uuid, LM406 over 20.';
