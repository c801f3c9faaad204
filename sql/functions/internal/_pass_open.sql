create or replace function loom._pass_open(p_pass loom.pass, p_kind loom.work_kind, p_at timestamptz) returns loom.pass
language plpgsql volatile
as $$
begin
  delete from loom.pass_share where kind = p_pass.kind;
  p_pass.pass_no := p_pass.pass_no + 1;
  p_pass.opened_at := p_at;
  p_pass.half_at := p_at + p_kind.max_pass / 2;
  p_pass.deadline_at := p_at + p_kind.max_pass;
  p_pass.budget_left := p_kind.max_users_per_pass;
  p_pass.taken := 0;
  p_pass.start_org := p_pass.rotation_org;
  p_pass.start_namespace := p_pass.rotation_namespace;
  p_pass.wrapped := false;
  p_pass.went_round := false;
  p_pass.not_before := null;
  return p_pass;
end
$$;
comment on function loom._pass_open(loom.pass, loom.work_kind, timestamptz) is
  'A new pass, which goes on where the rotation stopped.';
