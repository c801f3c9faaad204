create or replace function loom._pattern(p_request jsonb) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_pattern text := loom._text(p_request, 'pattern', true);
begin
  if char_length(v_pattern) not between 1 and 200 then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'pattern', 'limit', 200, 'value', char_length(v_pattern))::text,
      hint = 'A pattern has 1 to 200 characters.';
  end if;
  return v_pattern;
end
$$;
comment on function loom._pattern(jsonb) is 'The pattern of a blacklist request: 1 to 200 characters. LM001, LM406.';
