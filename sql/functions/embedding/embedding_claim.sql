create or replace function loom.embedding_claim(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_request jsonb := loom._check_fields(p_request, '{org,model,limit,lease_seconds}');
  v_org text := loom._work_enter(loom._text(v_request, 'org', true));
  v_model loom.embedding_model := loom._embedding_model_known(loom._text(v_request, 'model', true));
  v_limit integer := coalesce(loom._integer(v_request, 'limit', 1, 256), 64);
  v_now timestamptz := loom._now();
  v_until timestamptz := v_now + make_interval(secs => coalesce(loom._integer(v_request, 'lease_seconds', 10, 3600), 300));
  v_stop text := loom._model_stop(v_org, v_now);
  v_lease uuid := gen_random_uuid();
  v_ids uuid[];
begin
  if v_stop is null then
    v_ids := loom._embedding_lease(v_org, v_model.model, v_limit, v_lease, v_now, v_until);
    -- What is of high sensitivity goes to no provider: it is found by its words alone.
    delete from loom.embedding_due as due using loom.memory as secret
    where due.org = v_org and due.model = v_model.model and due.memory_id = any (v_ids)
      and secret.org = v_org and secret.memory_id = due.memory_id and secret.sensitivity = 'high';
  end if;
  if v_ids <> '{}' then
    perform loom._work_counted('embedding', 'claimed', cardinality(v_ids), v_now);
  end if;
  return jsonb_build_object('lease_id', v_lease, 'leased_until', loom._ts(v_until), 'model', v_model.model,
    'dimension', v_model.dimension, 'stop', v_stop, 'items', coalesce((
      select jsonb_agg(jsonb_build_object('memory_id', memory_id, 'content_sha256', content_sha256,
        'text', loom._embedding_text(row_now)) order by memory_id)
      from loom.memory as row_now
      where org = v_org and memory_id = any (v_ids) and sensitivity <> 'high' and loom._is_searchable(row_now)), '[]'));
end
$$;
comment on function loom.embedding_claim(jsonb) is
'Leases texts of one org that are due for a vector of a model, passing over what someone is writing just now. Each attempt is counted here, in the claim''s own commit. A text whose attempt failed before is leased alone, so that it cannot spoil others again. One of high sensitivity is not given out, and not due any more.

Request: org*, model*, limit (1 to 256, default 64), lease_seconds (10 to 3600, default 300).
Returns: lease_id, leased_until, model, dimension (null: not known yet), stop (why nothing may be made: MODEL_CALLS_OFF, MODEL_TOKEN_CAP), items [{memory_id, content_sha256, text}].
Errors: LM001, also for a model that is not in use.';
