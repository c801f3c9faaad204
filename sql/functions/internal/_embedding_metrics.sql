create or replace function loom._embedding_metrics(p_most integer, p_at timestamptz) returns jsonb
language plpgsql volatile
as $$
declare
  v_due bigint;
  v_oldest timestamptz;
begin
  select coalesce(sum(loom._embedding_due_count(model, p_most + 1)), 0)::bigint,
    min((loom.embedding_places(jsonb_build_object('model', model, 'limit', 1000)) #>> '{orgs,0,due_at}')::timestamptz)
  into v_due, v_oldest
  from loom.embedding_model where state in ('building', 'active');
  return jsonb_build_object(
    'due', least(v_due, p_most), 'due_is_more', v_due > p_most,
    'oldest_due_seconds', extract(epoch from p_at - v_oldest),
    'under_way', exists (
      select from loom.embedding_model join loom.embedding_due using (model)
      where org >= '' and lease_id is not null and due_at between p_at and 'infinity')
  ) || loom._work_ended('embedding', p_at);
end
$$;
comment on function loom._embedding_metrics(integer, timestamptz) is
  'What loom.work_metrics tells of texts that are to have a vector, by all models in use.';
