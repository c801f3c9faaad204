create or replace function loom._char_limit_given(p_request jsonb, p_most integer) returns integer
language plpgsql immutable parallel safe
as $$
declare
  v_value jsonb := p_request -> 'char_limit';
  v_number numeric;
begin
  if jsonb_typeof(v_value) = 'number' then
    v_number := v_value::numeric;
    if v_number = trunc(v_number) and v_number not between 1 and p_most then
      raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
        detail = jsonb_build_object('what', 'char_limit', 'limit', p_most,
          -- A number of a few characters could print as a hundred thousand.
          'value', greatest(least(v_number, 9007199254740991), -9007199254740991))::text,
        hint = 'A char_limit is at least 1 and at most the named limit.';
    end if;
  end if;
  return loom._integer(p_request, 'char_limit', 1, p_most);
end
$$;
comment on function loom._char_limit_given(jsonb, integer) is
  'The char_limit of a request that has one. LM001 when it is no whole number, LM406 outside its range.';
