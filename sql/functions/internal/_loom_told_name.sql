create or replace function loom._loom_told_name(p_loom loom.loom) returns text
language sql immutable
as $$
  select case when p_loom.scope_key is null and p_loom.process_id is null then p_loom.name end
$$;
comment on function loom._loom_told_name(loom.loom) is
  'The name by which a prompt speaks of a loom; null for one that a scope or a run made, whose name is an id and would be another in each prompt.';
