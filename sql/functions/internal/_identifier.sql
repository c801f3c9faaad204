create or replace function loom._identifier(p_request jsonb, p_field text, p_most integer default 200)
returns text
language sql immutable parallel safe
as $$
  select case
    when jsonb_typeof(p_request -> p_field) = 'string'
      and char_length(p_request ->> p_field) between 1 and p_most
      and (p_most < 200 or octet_length(p_request ->> p_field) <= 256) then p_request ->> p_field
    when jsonb_typeof(p_request -> p_field) <> 'null' then loom._identifier_refused(p_request, p_field, p_most)
  end
$$;
comment on function loom._identifier(jsonb, text, integer) is
  'An id or key of a request: 1 to p_most code points and at most 256 bytes of UTF-8, so that a key always fits an index; null when left out. LM406 outside that.';
