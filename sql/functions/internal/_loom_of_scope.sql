create or replace function loom._loom_of_scope(p_caller loom.caller, p_request jsonb, p_agent text) returns loom.loom
language plpgsql volatile
as $$
declare
  v_org text := p_caller.org;
  v_namespace text := p_caller.namespace;
  v_scope text := loom._choice(p_request, 'scope', '{interaction,agent,input,run}');
  v_new loom.loom;
  v_loom loom.loom;
  v_ok boolean;
begin
  v_new.loom_id := gen_random_uuid();
  v_new.name := concat(v_scope, ' ', v_new.loom_id);  -- that nobody can have taken
  v_new.seed_from_loom_id := loom._uuid(p_request, 'seedFromLoomId');
  if v_scope = 'run' then
    v_new.process_id := loom._uuid(p_request, 'processId', true);
  else
    v_new.scope_key := loom._loom_scope_key(p_request, v_scope, p_agent);
  end if;
  loop
    select * into v_loom from loom.loom
    where org = v_org and namespace = v_namespace and (scope_key = v_new.scope_key or process_id = v_new.process_id);
    exit when found;
    if v_new.seed_from_loom_id is not null then
      perform loom._loom_in_reach(p_caller, v_new.seed_from_loom_id);
    end if;
    v_ok := loom._blacklist_check(p_caller, array[v_new.scope_key]);
    v_loom := loom._loom_insert(v_new, p_caller);
    exit when v_loom.loom_id is not null;
  end loop;
  return v_loom;
end
$$;
comment on function loom._loom_of_scope(loom.caller, jsonb, text) is
  'The loom that a scope of an interaction or a run has for an agent, which is made when it is not there; rivals make one. Errors: LM001, LM103 for what it is to be seeded from, LM406, LM407.';
