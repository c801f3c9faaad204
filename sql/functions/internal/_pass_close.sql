create or replace function loom._pass_close(p_pass loom.pass, p_wait interval, p_at timestamptz) returns loom.pass
language plpgsql immutable
as $$
begin
  p_pass.opened_at := null;
  p_pass.half_at := null;
  p_pass.deadline_at := null;
  p_pass.budget_left := 0;
  p_pass.closed_at := p_at;
  p_pass.not_before := p_at + p_wait;
  return p_pass;
end
$$;
comment on function loom._pass_close(loom.pass, interval, timestamptz) is
  'A pass that is over; unless something falls due the next one waits so long.';
