create or replace function loom.embedding_advance(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_request jsonb := loom._check_fields(p_request, '{limit}');
  v_limit integer := coalesce(loom._integer(v_request, 'limit', 1, 10000), 1000);
  v_now timestamptz := loom._now();
  v_model loom.embedding_model;
begin
  -- One worker at a time goes on with a model; the others have enough to claim.
  for v_model in
    select * from loom.embedding_model where state in ('building', 'active') order by state desc for update skip locked
  loop
    if v_model.state = 'active' and v_model.swept_at <= v_now - interval '1 day' then
      v_model := loom._embedding_restart(v_model);
    end if;
    if v_model.swept_at is null then
      v_model := loom._embedding_sweep(v_model, v_limit, v_now);
    end if;
    if v_model.state = 'building' and v_model.swept_at is not null and loom._embedding_complete(v_model.model) then
      perform loom._embedding_switch(v_model.model, v_now);
      exit;
    end if;
  end loop;
  return loom._embedding_models();
end
$$;
comment on function loom.embedding_advance(jsonb) is
'Goes on with the models in use: lists the next rows that have no vector as due, at most so many and only while few are waiting; and once a model that is being built lacks none, makes it the active one, in this statement. Orgs whose model calls are off do not hold that up. The active model is gone through once a day, so that a row which a long transaction wrote unseen is found. The worker calls it between claims; it can stop and go on at any time.

Request: limit (1 to 10000, default 1000).
Returns: as loom.embedding_progress.
Errors: LM001.';
alter function loom.embedding_advance(jsonb) owner to loom_scheduler;
