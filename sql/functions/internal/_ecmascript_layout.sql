create or replace function loom._ecmascript_layout(p_digits text, p_exponent integer) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  v_count integer := char_length(p_digits);
begin
  if p_exponent between v_count and 21 then
    return rpad(p_digits, p_exponent, '0');
  elsif p_exponent between 1 and 21 then
    return left(p_digits, p_exponent) || '.' || substr(p_digits, p_exponent + 1);
  elsif p_exponent between -5 and 0 then
    return '0.' || repeat('0', -p_exponent) || p_digits;
  end if;
  return left(p_digits, 1) || case when v_count > 1 then '.' || substr(p_digits, 2) else '' end
    || 'e' || case when p_exponent > 0 then '+' else '-' end || abs(p_exponent - 1);
end
$$;
comment on function loom._ecmascript_layout(text, integer) is
  'Lays out 0.digits * 10 ^ exponent as Number.prototype.toString does: plain from 1e-6 to below 1e21, else with an exponent.';
