create or replace function loom._string(p_request jsonb, p_field text) returns text
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> p_field) = 'string' then p_request ->> p_field end
$$;
comment on function loom._string(jsonb, text) is
  'A field where it is a string, else null, for requests not yet judged: printing a hostile number or list could take gigabytes.';
