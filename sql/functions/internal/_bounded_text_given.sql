create or replace function loom._bounded_text_given(p_request jsonb, p_field text, p_most integer)
returns text
language plpgsql immutable parallel safe
as $$
declare
  v_text text := loom._text(p_request, p_field);
  v_length integer := char_length(v_text);
begin
  if v_length > p_most then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', p_field, 'limit', p_most, 'value', v_length)::text,
      hint = 'Shorten it to the limit.';
  end if;
  return v_text;
end
$$;
comment on function loom._bounded_text_given(jsonb, text, integer) is
  'A text field of at most p_most code points, where it is there. LM001, LM406.';
