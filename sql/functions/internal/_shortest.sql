create or replace function loom._shortest(p_double double precision) returns numeric
language plpgsql immutable strict parallel safe
set extra_float_digits = 1
as $$
declare
  v_shortest numeric := p_double::text::numeric;
  v_unit numeric := 1;
  v_shorter numeric;
begin
  -- The server's digits are the shortest but for one case: a number that lies on the border between
  -- two doubles and reads as the even one (1e23). Such a border is an odd multiple, of 54 bits, of a
  -- power of two, and has at most 17 digits and then zeros: it lies from 2^53 to below 1e40.
  if p_double < 9007199254740992 or p_double >= 1e40 then
    return v_shortest;
  end if;
  loop
    while mod(v_shortest, v_unit) = 0 loop
      v_unit := v_unit * 10;
    end loop;
    v_shorter := round(v_shortest / v_unit) * v_unit;
    if v_shorter::double precision <> p_double then
      v_shorter := trunc(v_shortest / v_unit) * v_unit;
      exit when v_shorter::double precision <> p_double;
    end if;
    v_shortest := v_shorter;
  end loop;
  return v_shortest;
end
$$;
comment on function loom._shortest(double precision) is
  'The number with the fewest digits that reads as this double (not negative), as ECMAScript prints it.';
