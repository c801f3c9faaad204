create or replace function loom.embedding_model_add(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_request jsonb := loom._check_fields(p_request, '{model,dimension}');
  v_name text := loom._required_identifier(v_request, 'model');
  v_dimension integer := loom._integer(v_request, 'dimension', 1, 16000);
  v_now timestamptz := loom._now();
  v_model loom.embedding_model;
  v_reason text;
begin
  -- One at a time may change what is in use.
  lock table loom.embedding_model in share row exclusive mode;
  select * into v_model from loom.embedding_model where model = v_name;
  v_reason := case
    when to_regclass('loom.embedding') is null then 'needs the extension vector, which this database does not have'
    when v_model.dimension <> v_dimension then format('has vectors of %s numbers', v_model.dimension)
    when exists (select from loom.embedding_model where state = 'building' and model <> v_name)
      then 'another model is being built' end;
  if v_reason is not null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'model', 'reason', v_reason)::text,
      hint = 'Install pgvector and run loom migrate; wait for the other model or retire it; or take another name.';
  end if;
  if v_model.state in ('building', 'active') then
    return loom._embedding_models();
  end if;
  insert into loom.embedding_model (model, dimension, state, created_at) values (v_name, v_dimension, 'building', v_now)
  on conflict (model) do update set state = 'building', retired_at = null
  returning * into v_model;
  perform loom._embedding_restart(v_model);
  perform loom._audit('-', session_user::text, v_now, 'embedding_model.add', jsonb_build_object('model', v_name));
  perform loom._ring();
  return loom._embedding_models();
end
$$;
comment on function loom.embedding_model_add(jsonb) is
'Adds a model, or takes up a retired one: from now on each text that is written is due for a vector of it, and those there already are listed bit by bit. Searches go by the active model meanwhile; when all have a vector it becomes the active one (loom.embedding_advance). One that is in use is left as it is. Audited. For the migration login alone.

Request: model*, dimension (1 to 16000; left out: that of its first vectors).
Returns: as loom.embedding_progress.
Errors: LM001, also while another model is being built, and without pgvector. LM406.';
alter function loom.embedding_model_add(jsonb) owner to loom_scheduler;
