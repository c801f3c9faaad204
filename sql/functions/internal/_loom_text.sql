create or replace function loom._loom_text(p_request jsonb) returns text
language plpgsql immutable parallel safe
as $$
begin
  if loom._text(p_request, 'text', true) = '' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'text', 'reason', 'must not be empty')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return loom._bounded_text(p_request, 'text', 16384);
end
$$;
comment on function loom._loom_text(jsonb) is 'The text of a thread or turn: 1 to 16,384 code points. Errors: LM001, LM406.';
