create or replace function loom._embedding_models() returns jsonb
language plpgsql stable
as $$
begin
  return jsonb_build_object('vectors', to_regclass('loom.embedding') is not null, 'models', coalesce((
    select jsonb_agg(jsonb_build_object('model', model, 'dimension', dimension, 'state', state, 'total', total,
      'listed', listed, 'swept', swept_at is not null, 'due', loom._embedding_due_count(model, 10000),
      'given_up', loom._embedding_given_up(model, 10000),
      'created_at', loom._ts(created_at), 'activated_at', loom._ts(activated_at), 'retired_at', loom._ts(retired_at))
      order by created_at, model)
    from loom.embedding_model), '[]'));
end
$$;
comment on function loom._embedding_models() is 'All models with how far each is.';
