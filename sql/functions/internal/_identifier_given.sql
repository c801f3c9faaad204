create or replace function loom._identifier_given(p_request jsonb, p_field text, p_most integer)
returns text
language plpgsql immutable parallel safe
as $$
declare
  v_text text := loom._text(p_request, p_field);
  v_length integer := char_length(v_text);
begin
  if v_length between 1 and p_most and (p_most < 200 or octet_length(v_text) <= 256) then
    return v_text;
  end if;
  raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
    detail = case when v_length between 1 and p_most
      then jsonb_build_object('what', p_field, 'limit', 256, 'value', octet_length(v_text), 'unit', 'bytes')
      else jsonb_build_object('what', p_field, 'limit', p_most, 'value', v_length, 'unit', 'characters')
    end::text,
    hint = 'Identifiers and keys have at least one character, and at most the named limit.';
end
$$;
comment on function loom._identifier_given(jsonb, text, integer) is
  'An id or key of a request that is longer in bytes than it may be in characters, or is none. LM001 for no string, LM406 outside its limits.';
