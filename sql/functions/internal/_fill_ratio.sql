create or replace function loom._fill_ratio(p_value_length integer, p_char_limit integer) returns numeric
language sql immutable strict parallel safe
as $$
  select trim_scale(round(p_value_length::numeric / p_char_limit, 4))
$$;
comment on function loom._fill_ratio(integer, integer) is 'How full a value is: length by limit, four decimals.';
