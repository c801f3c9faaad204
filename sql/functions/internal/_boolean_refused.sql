create or replace function loom._boolean_refused(p_request jsonb, p_field text) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', p_field, 'reason', 'must be true or false')::text,
    hint = 'Correct the named field and send the request again.';
end
$$;
comment on function loom._boolean_refused(jsonb, text) is 'The refusal of a field that is neither true nor false. Always LM001.';
