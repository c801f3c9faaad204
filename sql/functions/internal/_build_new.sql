create or replace function loom._build_new(p_state loom.user_state, p_kind text, p_schema loom.profile_schema)
returns loom.build
language plpgsql immutable
as $$
declare
  v_new loom.build;
begin
  v_new.org := p_state.org;
  v_new.namespace := p_state.namespace;
  v_new.kind := p_kind;
  v_new.user_id := p_state.user_id;
  v_new.schema_rev := coalesce(p_schema.schema_rev, 0);
  v_new.modelless := false;
  v_new.attempts := 0;
  return v_new;
end
$$;
comment on function loom._build_new(loom.user_state, text, loom.profile_schema) is
  'A build of which nothing is known yet.';
