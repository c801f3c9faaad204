create or replace function loom._identifier(p_request jsonb, p_field text, p_most integer default 200)
returns text
language sql immutable parallel safe
as $$
  select case
    -- What has so few bytes has so few characters.
    when jsonb_typeof(p_request -> p_field) = 'string'
      and octet_length(nullif(p_request ->> p_field, '')) <= p_most then p_request ->> p_field
    when jsonb_typeof(p_request -> p_field) <> 'null' then loom._identifier_given(p_request, p_field, p_most)
  end
$$;
comment on function loom._identifier(jsonb, text, integer) is
  'An id or key of a request: 1 to p_most code points and at most 256 bytes of UTF-8, so that a key always fits an index; null when left out. LM406 outside that.';
