create or replace function loom.embedding_model_drop(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_request jsonb := loom._check_fields(p_request, '{model,limit}');
  v_name text := loom._required_identifier(v_request, 'model');
  v_limit integer := coalesce(loom._integer(v_request, 'limit', 1, 100000), 10000);
  v_removed bigint := 0;
begin
  perform from loom.embedding_model where model = v_name and state <> 'retired';
  if found then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'model', 'reason', 'is in use')::text,
      hint = 'Retire it first by loom.embedding_model_retire.';
  end if;
  if to_regclass('loom.embedding') is not null then
    v_removed := loom._embedding_remove(v_name, v_limit);
  end if;
  if v_removed < v_limit then
    delete from loom.embedding_model where model = v_name and state = 'retired';
    perform loom._audit('-', session_user::text, loom._now(), 'embedding_model.drop', jsonb_build_object('model', v_name));
  end if;
  return jsonb_build_object('removed', v_removed, 'done', v_removed < v_limit);
end
$$;
comment on function loom.embedding_model_drop(jsonb) is
'Removes the vectors of a retired model, at most so many a call, and at last the model. Audited. For the migration login alone.

Request: model*, limit (1 to 100000, default 10000).
Returns: removed, done (false: call it again).
Errors: LM001, also for a model in use. LM406.';
alter function loom.embedding_model_drop(jsonb) owner to loom_scheduler;
