create or replace function loom._text(p_request jsonb, p_field text, p_required boolean default false)
returns text
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
declare
  v_type text := coalesce(jsonb_typeof(p_request -> p_field), 'null');
begin
  if v_type = 'string' then
    return p_request ->> p_field;
  end if;
  if v_type <> 'null' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', p_field, 'reason', 'must be a string')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  if p_required then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', p_field, 'reason', 'is required')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return null;
end
$$;
comment on function loom._text(jsonb, text, boolean) is
  'A text field of a request; null when it is left out or null. LM001 when it is no string, or missing and required.';
