create or replace function loom._char_limit(p_request jsonb, p_most integer) returns integer
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> 'char_limit') <> 'null' then loom._char_limit_given(p_request, p_most) end
$$;
comment on function loom._char_limit(jsonb, integer) is
  'The char_limit of a request, 1 to p_most; null when left out. LM001 when it is no whole number, LM406 outside its range.';
