create or replace function loom._string(p_request jsonb, p_field text) returns text
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
begin
  if jsonb_typeof(p_request -> p_field) = 'string' then
    return p_request ->> p_field;
  end if;
  return null;
end
$$;
comment on function loom._string(jsonb, text) is
  'A field where it is a string, else null, for requests not yet judged: printing a hostile number or list could take gigabytes.';
