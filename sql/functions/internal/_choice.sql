create or replace function loom._choice(p_request jsonb, p_field text, p_choices text[])
returns text
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
declare
  v_text text := loom._text(p_request, p_field);
begin
  if v_text is null or v_text = any (p_choices) then
    return v_text;
  end if;
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', p_field,
      'reason', 'must be one of ' || array_to_string(p_choices, ', '))::text,
    hint = 'Correct the named field and send the request again.';
end
$$;
comment on function loom._choice(jsonb, text, text[]) is
  'A field of a request that takes one of a few words; null when left out or null. LM001 otherwise.';
