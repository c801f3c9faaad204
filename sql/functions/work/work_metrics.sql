create or replace function loom.work_metrics() returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_now timestamptz := loom._now();
  v_most integer := 10000;
  v_kind loom.work_kind;
  v_due bigint;
  v_kinds jsonb := '{}';
begin
  for v_kind in select * from loom.work_kind order by kind loop
    v_due := loom._work_due_count(v_kind, v_most + 1, v_now);
    v_kinds := v_kinds || jsonb_build_object(v_kind.kind, jsonb_build_object(
      'due', least(v_due, v_most), 'due_is_more', v_due > v_most,
      'oldest_due_seconds', extract(epoch from v_now - loom._work_oldest(v_kind, v_now)),
      'under_way', exists (
        select from loom.build where lease_id is not null and kind = v_kind.kind and leased_until > v_now)
    ) || loom._work_ended(v_kind.kind, v_now));
  end loop;
  v_kinds := v_kinds || jsonb_build_object('embedding', loom._embedding_metrics(v_most, v_now));
  v_kinds := v_kinds || jsonb_build_object('night_weaving', loom._weaving_metrics(v_now) || loom._work_ended('night_weaving', v_now));
  return jsonb_build_object('kinds', v_kinds, 'model_tokens', coalesce((
    select jsonb_object_agg(kind, total) from loom.work_count where outcome = 'tokens'), '{}'));
end
$$;
comment on function loom.work_metrics() is
'How work goes on, across orgs, for /metrics and /v1/ready; its cost is bounded, whatever is due.

Returns: kinds {kind: due (how many users a claim is to look at, held ones too; of embedding how many texts, of night_weaving how many looms; no more than 10000 are counted, of looms 1000), due_is_more, oldest_due_seconds (how long a worker could have claimed what has been due longest; null: nothing can be claimed), under_way (a lease is alive), claims, last_claim_seconds, last_end_seconds, builds {outcome: how many}}, model_tokens {purpose: how many}. Counts are since the installation began.';
alter function loom.work_metrics() owner to loom_scheduler;
