create or replace function loom._canonical(p_value jsonb, p_path text, p_depth integer default 1) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_canonical text;
begin
  case jsonb_typeof(p_value)
    when 'number' then
      return loom._canonical_number(p_value::numeric, p_path);
    when 'array', 'object' then
      if p_depth > 63 then  -- and the request around it
        raise exception using errcode = 'LM001', message = 'The request is not valid.',
          detail = jsonb_build_object('field', left(p_path, 200), 'reason', 'is nested deeper than 64')::text,
          hint = 'Send a flatter value.';
      end if;
    else
      return p_value::text;  -- strings, true, false, null: the server writes them as RFC 8785 does
  end case;
  if jsonb_typeof(p_value) = 'array' then
    select string_agg(loom._canonical(element, format('%s[%s]', p_path, place - 1), p_depth + 1), ','
      order by place) into v_canonical
    from jsonb_array_elements(p_value) with ordinality as listed (element, place);
    return '[' || coalesce(v_canonical, '') || ']';
  end if;
  select string_agg(to_json(key)::text || ':' || loom._canonical(value, p_path || '.' || key, p_depth + 1), ','
    order by loom._utf16_order(key) collate "C") into v_canonical
  from jsonb_each(p_value);
  return '{' || coalesce(v_canonical, '') || '}';
end
$$;
comment on function loom._canonical(jsonb, text, integer) is
  'A value as canonical JSON (RFC 8785): the text that is hashed and measured. LM001 with the path for a number that no double holds and for a value nested too deep.';
