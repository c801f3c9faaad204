create or replace function loom._text(p_request jsonb, p_field text, p_required boolean default false)
returns text
language sql immutable parallel safe
as $$
  select case
    when jsonb_typeof(p_request -> p_field) = 'string' then p_request ->> p_field
    when p_required or jsonb_typeof(p_request -> p_field) <> 'null' then loom._text_refused(p_request, p_field)
  end
$$;
comment on function loom._text(jsonb, text, boolean) is
  'A text field of a request; null when it is left out or null. LM001 when it is no string, or missing and required.';
