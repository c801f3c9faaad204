create or replace function loom._canonical_number(p_number numeric, p_path text) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_parts text[];
  v_digits text;
  v_exponent integer;  -- of the point before the first digit: 0.digits * 10 ^ exponent
begin
  if not loom._is_double(p_number) then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', left(p_path, 200),
        'reason', 'is a number that a double cannot hold')::text,
      hint = 'Send it as a string.';
  end if;
  if abs(p_number) < 9007199254740992 and p_number = trunc(p_number) then
    return trunc(p_number)::bigint::text;
  end if;
  if abs(p_number) < 1e-320 and abs(p_number) * power(2::numeric, 1075) <= 1 then
    return '0';  -- half of the least double, or less: the nearest one is zero
  end if;
  v_parts := regexp_match(loom._shortest(abs(p_number)::double precision)::text, E'^(\\d+)(?:\\.(\\d+))?$');
  v_digits := v_parts[1] || coalesce(v_parts[2], '');
  v_exponent := char_length(v_parts[1]);
  v_exponent := v_exponent - (char_length(v_digits) - char_length(ltrim(v_digits, '0')));
  v_digits := rtrim(ltrim(v_digits, '0'), '0');
  return case when p_number < 0 then '-' else '' end || loom._ecmascript_layout(v_digits, v_exponent);
end
$$;
comment on function loom._canonical_number(numeric, text) is
  'A number as ECMAScript prints the double nearest to it (RFC 8785). LM001 with the path when a double cannot hold it.';
