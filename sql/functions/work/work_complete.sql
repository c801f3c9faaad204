create or replace function loom.work_complete(p_org text, p_lease_id uuid, p_answer jsonb, p_sources jsonb)
returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_org text := loom._work_enter(p_org);
  v_now timestamptz := loom._now();
  v_build loom.build := loom._lease_enter(v_org, p_lease_id, v_now);
  v_answer jsonb;
begin
  if v_build.org is null then
    return jsonb_build_object('outcome', 'lost', 'reason', 'LEASE_LOST');
  end if;
  case v_build.kind
    when 'structured_profile' then
      v_answer := loom.structured_profile_complete(v_build, p_answer, p_sources, v_now);
    when 'profile_consolidation' then
      v_answer := loom.profile_fold_complete(v_build, p_answer, v_now);
  end case;
  perform loom._work_counted(v_build.kind, v_answer ->> 'outcome', 1, v_now);
  return v_answer;
end
$$;
comment on function loom.work_complete(text, uuid, jsonb, jsonb) is
'Ends a lease with what was built. Nothing is written unless everything is still as it was read.

Request: p_answer (structured_profile: an object of property and value; a property left out is null; profile_consolidation: a text), p_sources (structured_profile: property and list of the ids of the sources it was told from).
Returns: outcome (written; unchanged: the row says so already; nothing: there is neither a fact nor a row to replace; refused: the row may not be written over; requeued: something changed meanwhile; lost: the lease is over), reason (a code, or null), memory_id, version, version_text.
Errors: LM001 an answer of another shape, LM402 longer than a section may be.';
