create or replace function loom._text_refused(p_request jsonb, p_field text) returns text
language plpgsql immutable parallel safe
as $$
begin
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', p_field,
      'reason', case when jsonb_typeof(p_request -> p_field) <> 'null' then 'must be a string' else 'is required' end)::text,
    hint = 'Correct the named field and send the request again.';
end
$$;
comment on function loom._text_refused(jsonb, text) is
  'The refusal of a text field that is no string, or is missing. Always LM001.';
