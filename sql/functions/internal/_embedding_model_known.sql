create or replace function loom._embedding_model_known(p_model text) returns loom.embedding_model
language plpgsql stable
as $$
declare
  v_model loom.embedding_model;
begin
  select * into v_model from loom.embedding_model where model = p_model and state in ('building', 'active');
  if not found then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'model', 'reason', 'is no model in use')::text,
      hint = 'An operator adds a model by loom.embedding_model_add.';
  end if;
  return v_model;
end
$$;
comment on function loom._embedding_model_known(text) is 'A model that vectors are made of: the active one or the one being built. LM001 for another.';
