create or replace function loom._bounded_text(p_request jsonb, p_field text, p_most integer) returns text
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> p_field) <> 'null' then loom._bounded_text_given(p_request, p_field, p_most) end
$$;
comment on function loom._bounded_text(jsonb, text, integer) is
  'An optional text field of at most p_most code points; LM406 when longer.';
