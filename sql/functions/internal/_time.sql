create or replace function loom._time(p_request jsonb, p_field text) returns timestamptz
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> p_field) <> 'null' then loom._time_given(p_request, p_field) end
$$;
comment on function loom._time(jsonb, text) is
  'A time field of a request: ISO 8601 with a zone, at most microseconds kept; null when left out. LM001 otherwise.';
