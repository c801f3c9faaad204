create or replace function loom._integer(p_request jsonb, p_field text, p_least bigint, p_most bigint) returns bigint
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> p_field) <> 'null' then loom._integer_given(p_request, p_field, p_least, p_most) end
$$;
comment on function loom._integer(jsonb, text, bigint, bigint) is
  'A whole-number field of a request within its range; null when left out or null. LM001 otherwise.';
