create or replace function loom._pass_share_out(p_pass loom.pass, p_at timestamptz) returns integer
language plpgsql volatile
as $$
declare
  v_kind loom.work_kind := loom._kind_of_work(p_pass.kind);
  v_shared integer;
begin
  -- To those just reached; when the pass has reached all, what they leave goes to those that used
  -- their whole share.
  with due as (
    select share.org, share.namespace, share.share = 0 as new, bool_or(share.share = 0) over () as any_new
    from loom.pass_share as share
    cross join lateral loom._work_schema(v_kind, share.org, share.namespace) as schema
    where share.kind = p_pass.kind and share.share_left = 0
      and loom._namespace_due(schema, share.kind, p_at)
  ), waiting as (
    select org, namespace, row_number() over (order by org, namespace) as place, count(*) over () as waiting
    from due
    where case when any_new then new else p_pass.went_round end
  )
  update loom.pass_share as share
  set share = share.share + p_pass.budget_left / waiting
      + case when place <= p_pass.budget_left % waiting then 1 else 0 end,
    share_left = p_pass.budget_left / waiting
      + case when place <= p_pass.budget_left % waiting then 1 else 0 end
  from waiting
  where share.org = waiting.org and share.namespace = waiting.namespace and share.kind = p_pass.kind;
  get diagnostics v_shared = row_count;
  return v_shared;
end
$$;
comment on function loom._pass_share_out(loom.pass, timestamptz) is
  'Shares what a pass has left equally among the namespaces that have no share left and something to do, first among those that had none yet; to how many.';
