create or replace function loom._if_absent(p_request jsonb) returns boolean
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> 'if_absent') <> 'null' then loom._if_absent_given(p_request) else false end
$$;
comment on function loom._if_absent(jsonb) is
  'The if_absent condition of a write; false when left out. LM001 together with if_match_sha256.';
