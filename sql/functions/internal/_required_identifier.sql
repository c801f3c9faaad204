create or replace function loom._required_identifier(p_request jsonb, p_field text) returns text
language sql immutable parallel safe
as $$
  select coalesce(loom._identifier(p_request, p_field), loom._text_refused(p_request, p_field))
$$;
comment on function loom._required_identifier(jsonb, text) is 'An id or key that a request must name. LM001 when missing, LM406 outside its limits.';
