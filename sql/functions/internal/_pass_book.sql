create or replace function loom._pass_book(
  p_org text, p_namespace text, p_kind text, p_wanted integer, p_at timestamptz
) returns integer
language plpgsql volatile
as $$
declare
  v_left integer;
begin
  if p_wanted = 0 then
    return 0;
  end if;
  perform from loom.pass where kind = p_kind for update;
  -- Read anew behind the lock: rivals may have booked since.
  select least(p_wanted, share_left, budget_left) into v_left
  from loom.pass join loom.pass_share using (kind)
  where pass.kind = p_kind and pass_share.org = p_org and pass_share.namespace = p_namespace
    and half_at > p_at;
  v_left := coalesce(v_left, 0);
  update loom.pass set budget_left = budget_left - v_left, taken = taken + v_left where kind = p_kind;
  update loom.pass_share set share_left = share_left - v_left
  where org = p_org and namespace = p_namespace and kind = p_kind;
  return v_left;
end
$$;
comment on function loom._pass_book(text, text, text, integer, timestamptz) is
  'Takes so many users, or as many as are left, from the budget of the pass and the namespace''s share; how many.';
