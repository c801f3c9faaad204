create or replace function loom._pack_depends_on_query(p_name text) returns boolean
language sql immutable parallel safe
as $$
  select p_name in ('memories', 'decisions')
$$;
comment on function loom._pack_depends_on_query(text) is
  'Whether a section is found by the query; those stand behind all others, so that the start of a pack stays the same.';
