create or replace function loom._is_double(p_number numeric) returns boolean
language plpgsql immutable parallel safe
as $$
declare
  v_size numeric := abs(p_number);
  v_bits integer;
begin
  -- No double needs more decimals, and one short number of jsonb can print sixteen thousand.
  if scale(p_number) > 1100 then
    return false;
  end if;
  if v_size < 9007199254740992 then
    return true;
  end if;
  -- Halfway between the greatest double and the next: from there on the nearest one is infinite.
  if v_size >= 179769313486231580793728971405301e276 or v_size = 'NaN' then
    return false;
  end if;
  -- A decimal counts as the double nearest to it; so does what a double itself prints as (1e23).
  if v_size <> trunc(v_size) or v_size = loom._shortest(v_size::double precision) then
    return true;
  end if;
  -- Any other integer is held exactly when all but its 53 leading bits are zero.
  v_bits := greatest(ceil(log(2.0, v_size))::integer - 54, 0);
  loop
    exit when power(2::numeric, v_bits + 53) > v_size;
    v_bits := v_bits + 1;
  end loop;
  return mod(v_size, power(2::numeric, v_bits)) = 0;
end
$$;
comment on function loom._is_double(numeric) is
  'Whether a double can stand for the number: finite, and for an integer exact or what the double prints as.';
