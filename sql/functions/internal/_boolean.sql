create or replace function loom._boolean(p_request jsonb, p_field text) returns boolean
language sql immutable parallel safe
as $$
  select case
    when jsonb_typeof(p_request -> p_field) = 'boolean' then (p_request -> p_field)::boolean
    when jsonb_typeof(p_request -> p_field) <> 'null' then loom._boolean_refused(p_request, p_field)
  end
$$;
comment on function loom._boolean(jsonb, text) is
  'A true-or-false field of a request; null when left out or null. LM001 otherwise.';
