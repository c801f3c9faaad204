create or replace function loom._plane_of(p_type text) returns text
language sql immutable parallel safe
as $$
  select case p_type when 'profile' then 'profile' else 'memory' end
$$;
comment on function loom._plane_of(text) is 'Which searches find a row of a type: those of facts, or those of profile sections.';
