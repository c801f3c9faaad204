create or replace function loom.embedding_places(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_request jsonb := loom._check_fields(p_request, '{model,limit}');
  v_model text := loom._text(v_request, 'model', true);
  v_limit integer := coalesce(loom._integer(v_request, 'limit', 1, 1000), 100);
  v_now timestamptz := loom._now();
  v_org text := '';
  v_oldest timestamptz;
  v_orgs jsonb := '[]';
begin
  -- From org to org by the index, however many rows each has.
  while jsonb_array_length(v_orgs) < v_limit loop
    select org into v_org from loom.embedding_due
    where model = v_model and org > v_org order by org limit 1;
    exit when not found;
    select min(due_at) into v_oldest from loom.embedding_due where model = v_model and org = v_org;
    if v_oldest <= v_now and loom._model_calls(v_org) then
      v_orgs := v_orgs || jsonb_build_object('org', v_org, 'due_at', loom._ts(v_oldest));
    end if;
  end loop;
  return jsonb_build_object('orgs', coalesce((
    select jsonb_agg(place order by place ->> 'due_at', place ->> 'org') from jsonb_array_elements(v_orgs) as place), '[]'));
end
$$;
comment on function loom.embedding_places(jsonb) is
'Which orgs have texts that are due for a vector of a model and may have one made, the longest due first.

Request: model*, limit (1 to 1000, default 100).
Returns: orgs [{org, due_at}].
Errors: LM001.';
alter function loom.embedding_places(jsonb) owner to loom_scheduler;
