create or replace function loom._required_identifier(p_request jsonb, p_field text) returns text
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
begin
  perform loom._text(p_request, p_field, true);
  return loom._identifier(p_request, p_field);
end
$$;
comment on function loom._required_identifier(jsonb, text) is 'An id or key that a request must name. LM001 when missing, LM406 outside its limits.';
