create or replace function loom.embedding_store(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_request jsonb := loom._check_fields(p_request, '{org,model,lease_id,items,calls}');
  v_org text := loom._work_enter(loom._text(v_request, 'org', true));
  v_model loom.embedding_model := loom._embedding_model_known(loom._text(v_request, 'model', true));
  v_lease uuid := loom._uuid(v_request, 'lease_id', true);
  v_now timestamptz := loom._now();
  v_dimension integer := loom._embedding_dimension(v_request -> 'items', v_model.dimension);
  v_calls loom.model_usage[] := case when v_request ? 'calls'
    then loom._calls_used('embedding', v_model.model, v_request -> 'calls') end;
  v_ids uuid[];
begin
  v_ids := loom._embedding_held(v_org, v_model.model, v_lease, array(
    select (item ->> 'memory_id')::uuid from jsonb_array_elements(v_request -> 'items') as item));
  if v_model.dimension is null then
    -- The first vectors say it; of two workers with the first, one waits here for the other.
    update loom.embedding_model set dimension = v_dimension where model = v_model.model and dimension is null;
    v_model := loom._embedding_model_known(v_model.model);
    v_dimension := loom._embedding_dimension(v_request -> 'items', v_model.dimension);
  end if;
  v_ids := loom._embedding_put(v_org, v_model.model, v_ids, v_request -> 'items', v_now);
  delete from loom.embedding_due
  where org = v_org and model = v_model.model and lease_id = v_lease and memory_id = any (v_ids);
  if v_calls is not null then
    perform loom._model_used(v_org, '-', '-', 'embedding', v_model.model, v_calls, v_now);
  end if;
  if v_ids <> '{}' then
    perform loom._work_counted('embedding', 'stored', cardinality(v_ids), v_now);
  end if;
  return jsonb_build_object('stored', cardinality(v_ids),
    'refused', jsonb_array_length(v_request -> 'items') - cardinality(v_ids), 'dimension', v_dimension);
end
$$;
comment on function loom.embedding_store(jsonb) is
'Stores the vectors of a lease. One whose text has changed, or whose row is gone, since it was claimed is refused and nothing else: it is due again already, or never. Vectors of another size than the model''s refuse the whole request. Texts of the lease that it leaves out stay leased.

Request: org*, model*, lease_id*, items* [{memory_id, content_sha256, embedding (list of numbers)}], calls [{outcome, prompt_tokens, completion_tokens, milliseconds}] (what it took).
Returns: stored, refused, dimension.
Errors: LM001.';
