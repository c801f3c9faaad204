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
  v_orgs jsonb;
begin
  -- From org to org by the index, however many rows each has: all of them, so that none waits for ever behind
  -- others whose names come first.
  with recursive listed as (
    (select org from loom.embedding_due where model = v_model order by org limit 1)
    union all
    select (
      select next.org from loom.embedding_due as next
      where next.model = v_model and next.org > listed.org order by next.org limit 1)
    from listed where listed.org is not null
  ), place as (
    select listed.org, oldest.due_at from listed
    cross join lateral (
      select min(due.due_at) as due_at from loom.embedding_due as due where due.model = v_model and due.org = listed.org
    ) as oldest
    where oldest.due_at <= v_now and loom._model_calls(listed.org)
    order by oldest.due_at, listed.org
    limit v_limit
  )
  select jsonb_agg(jsonb_build_object('org', org, 'due_at', loom._ts(due_at)) order by due_at, org)
  into v_orgs from place;
  return jsonb_build_object('orgs', coalesce(v_orgs, '[]'));
end
$$;
comment on function loom.embedding_places(jsonb) is
'Which orgs have texts that are due for a vector of a model and may have one made, the longest due first.

Request: model*, limit (1 to 1000, default 100).
Returns: orgs [{org, due_at}].
Errors: LM001.';
alter function loom.embedding_places(jsonb) owner to loom_scheduler;
