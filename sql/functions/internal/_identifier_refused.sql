create or replace function loom._identifier_refused(p_request jsonb, p_field text, p_most integer)
returns text
language plpgsql immutable parallel safe
as $$
declare
  v_text text := loom._text(p_request, p_field);
  v_length integer := char_length(v_text);
begin
  raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
    detail = case when v_length between 1 and p_most
      then jsonb_build_object('what', p_field, 'limit', 256, 'value', octet_length(v_text), 'unit', 'bytes')
      else jsonb_build_object('what', p_field, 'limit', p_most, 'value', v_length, 'unit', 'characters')
    end::text,
    hint = 'Identifiers and keys have at least one character, and at most the named limit.';
end
$$;
comment on function loom._identifier_refused(jsonb, text, integer) is
  'The refusal of an id or key that is no string (LM001) or outside its limits (LM406).';
