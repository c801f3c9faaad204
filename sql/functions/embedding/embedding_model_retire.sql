create or replace function loom.embedding_model_retire(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_name text := loom._required_identifier(loom._check_fields(p_request, '{model}'), 'model');
  v_now timestamptz := loom._now();
begin
  lock table loom.embedding_model in share row exclusive mode;
  update loom.embedding_model set state = 'retired', retired_at = v_now where model = v_name and state <> 'retired';
  delete from loom.embedding_due where model = v_name;
  perform loom._audit('-', session_user::text, v_now, 'embedding_model.retire', jsonb_build_object('model', v_name));
  return loom._embedding_models();
end
$$;
comment on function loom.embedding_model_retire(jsonb) is
'Takes a model out of use: no more vectors are made of it, and no search goes by it. Its vectors stay. Audited. For the migration login alone.

Request: model*.
Returns: as loom.embedding_progress.
Errors: LM001, LM406.';
alter function loom.embedding_model_retire(jsonb) owner to loom_scheduler;
