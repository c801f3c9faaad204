create or replace function loom.profile_fold_complete(p_build loom.build, p_answer jsonb, p_at timestamptz) returns jsonb
language plpgsql volatile
as $$
declare
  v_kind loom.work_kind := loom._kind_of_work(p_build.kind);
  v_recipe loom.profile_schema := loom._work_schema(v_kind, p_build.org, p_build.namespace);
  v_reason text := loom._build_overtaken(p_build, v_kind, v_recipe);
begin
  if v_reason is not null then
    return loom._build_end(loom._build_unlease(p_build), p_build, v_kind, v_recipe, 'requeued', v_reason, p_at);
  end if;
  return loom._build_write(p_build, v_kind, v_recipe,
    -- Of no facts nothing can be told.
    loom._profile_fold_value(case when p_build.read_ids <> '{}' then p_answer end), null, p_at);
end
$$;
comment on function loom.profile_fold_complete(loom.build, jsonb, timestamptz) is
  'Writes the section that a user''s preferences and decisions are folded into, as the end of a live lease behind its user''s locks, provided that nothing it was made from has changed; else the user is listed again, and a row that may not be written over is left as it is. Answers outcome, reason and the row.';
