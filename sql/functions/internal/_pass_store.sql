create or replace function loom._pass_store(p_pass loom.pass) returns void
language plpgsql volatile
as $$
begin
  update loom.pass
  set pass_no = p_pass.pass_no, opened_at = p_pass.opened_at, half_at = p_pass.half_at,
    deadline_at = p_pass.deadline_at, budget_left = p_pass.budget_left, taken = p_pass.taken,
    rotation_org = p_pass.rotation_org, rotation_namespace = p_pass.rotation_namespace,
    start_org = p_pass.start_org, start_namespace = p_pass.start_namespace, wrapped = p_pass.wrapped,
    went_round = p_pass.went_round, closed_at = p_pass.closed_at, not_before = p_pass.not_before
  where kind = p_pass.kind;
end
$$;
comment on function loom._pass_store(loom.pass) is 'Writes the locked pass as it shall stand.';
