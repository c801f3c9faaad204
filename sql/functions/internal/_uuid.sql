create or replace function loom._uuid(p_request jsonb, p_field text, p_required boolean default false)
returns uuid
language plpgsql immutable parallel safe
as $$
declare
  v_text text := loom._text(p_request, p_field, p_required);
begin
  if v_text is null or v_text ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
    return v_text::uuid;
  end if;
  raise exception using errcode = 'LM001', message = 'The request is not valid.',
    detail = jsonb_build_object('field', p_field, 'reason', 'must be a uuid')::text,
    hint = 'Correct the named field and send the request again.';
end
$$;
comment on function loom._uuid(jsonb, text, boolean) is
  'A uuid field of a request; null when left out. LM001 when it is none, or missing and required.';
