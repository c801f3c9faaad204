create or replace function loom._pass_hold(p_org text, p_namespace text, p_kind text) returns void
language plpgsql volatile
as $$
begin
  perform from loom.pass where kind = p_kind for update;
  update loom.pass_share set held = true
  where org = p_org and namespace = p_namespace and kind = p_kind;
end
$$;
comment on function loom._pass_hold(text, text, text) is
  'Sets aside a namespace of whose due users none can be had now: its pass waits for none of them, and the next one, which opens at once, tries again.';
