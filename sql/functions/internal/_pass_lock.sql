create or replace function loom._pass_lock(p_kind text) returns loom.pass
language plpgsql volatile
as $$
declare
  v_pass loom.pass;
begin
  insert into loom.pass (kind, pass_no) values (p_kind, 0) on conflict (kind) do nothing;
  select * into v_pass from loom.pass where kind = p_kind for update;
  return v_pass;
end
$$;
comment on function loom._pass_lock(text) is
  'The pass of a kind of work, locked: the last lock of a claim, and the only one of work_due.';
