create or replace function loom.embedding_model_activate(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_name text := loom._required_identifier(loom._check_fields(p_request, '{model}'), 'model');
  v_now timestamptz := loom._now();
begin
  lock table loom.embedding_model in share row exclusive mode;
  perform from loom.embedding_model where model = v_name and state in ('building', 'active');
  if not found then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'model', 'reason', 'is no model in use')::text,
      hint = 'An operator adds a model by loom.embedding_model_add.';
  end if;
  perform loom._embedding_switch(v_name, v_now);
  perform loom._audit('-', session_user::text, v_now, 'embedding_model.activate', jsonb_build_object('model', v_name));
  return loom._embedding_models();
end
$$;
comment on function loom.embedding_model_activate(jsonb) is
'Makes a model that is being built the active one before it is whole: what has no vector of it yet is found by text alone. Audited. For the migration login alone.

Request: model*.
Returns: as loom.embedding_progress.
Errors: LM001, LM406.';
alter function loom.embedding_model_activate(jsonb) owner to loom_scheduler;
