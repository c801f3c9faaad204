create or replace function loom._loom_insert(p_loom loom.loom, p_caller loom.caller) returns loom.loom
language plpgsql volatile
as $$
declare
  v_made loom.loom;
begin
  insert into loom.loom (org, namespace, loom_id, name, description, scope_key, process_id, seed_from_loom_id,
    night_weaving, quiet_minutes, weaver_model, created_at, created_by, updated_at, updated_by)
  values (p_caller.org, p_caller.namespace, p_loom.loom_id, p_loom.name, p_loom.description, p_loom.scope_key, p_loom.process_id,
    p_loom.seed_from_loom_id, p_loom.night_weaving, p_loom.quiet_minutes, p_loom.weaver_model, p_caller.called_at,
    p_caller.actor, p_caller.called_at, p_caller.actor)
  on conflict do nothing
  returning * into v_made;
  return v_made;
end
$$;
comment on function loom._loom_insert(loom.loom, loom.caller) is
  'Makes a loom in the caller''s namespace; null when one of its name, scope key or run is there already, after waiting for whoever is just making it.';
