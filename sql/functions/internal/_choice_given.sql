create or replace function loom._choice_given(p_request jsonb, p_field text, p_choices text[])
returns text
language plpgsql immutable parallel safe
as $$
declare
  v_text text := loom._text(p_request, p_field);
begin
  if v_text = any (p_choices) then
    return v_text;
  end if;
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', p_field,
      'reason', 'must be one of ' || array_to_string(p_choices, ', '))::text,
    hint = 'Correct the named field and send the request again.';
end
$$;
comment on function loom._choice_given(jsonb, text, text[]) is
  'A field that takes one of a few words, where it is there. LM001 otherwise.';
