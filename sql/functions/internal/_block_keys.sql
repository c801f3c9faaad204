create or replace function loom._block_keys(p_request jsonb) returns text[]
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := p_request -> 'block_keys';
  v_keys text[] := '{}';
  v_element jsonb;
begin
  if v_value is null or v_value = 'null' then
    return null;
  end if;
  if jsonb_typeof(v_value) <> 'array' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'block_keys', 'reason', 'must be a list of block keys')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  if jsonb_array_length(v_value) > 20 then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'block_keys', 'limit', 20,
        'value', jsonb_array_length(v_value))::text,
      hint = 'Name fewer blocks.';
  end if;
  for v_element in select value from jsonb_array_elements(v_value) loop
    if jsonb_typeof(v_element) <> 'string' then
      raise exception using errcode = 'LM001', message = 'The request is not valid.',
        detail = jsonb_build_object('field', 'block_keys', 'reason', 'must be a list of block keys')::text,
        hint = 'Correct the named field and send the request again.';
    end if;
    v_keys := v_keys || loom._identifier(jsonb_build_object('block_keys', v_element), 'block_keys', 80);
  end loop;
  return v_keys;
end
$$;
comment on function loom._block_keys(jsonb) is
  'The block keys a render names, in their order; null when left out. LM001 when it is no list of strings, LM406 when there are more than 20 or one is too long.';
