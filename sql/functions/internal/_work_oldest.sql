create or replace function loom._work_oldest(p_kind loom.work_kind, p_at timestamptz) returns timestamptz
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_since timestamptz;
  v_pass loom.pass;
begin
  if not p_kind.enabled then
    return null;
  end if;
  select * into v_pass from loom.pass where kind = p_kind.kind;
  select min(loom._claimable_since(schema, p_kind.kind, p_at)) into v_since
  from loom._work_places(p_kind, '', '', null, null, 1000) as schema
  -- Most have nothing to do.
  where coalesce(
      (select true from loom.build
       where org = schema.org and namespace = schema.namespace and kind = p_kind.kind and due_at <= p_at
       order by due_at limit 1),
      (select true from loom.build
       where org = schema.org and namespace = schema.namespace and kind = p_kind.kind and schema_rev < schema.schema_rev
       order by schema_rev limit 1))
    -- Not where a claim has just found that all due users are being written.
    and ((v_pass.opened_at > p_at - interval '1 minute' or v_pass.closed_at > p_at - interval '1 minute') is not true
      or not exists (
        select from loom.pass_share as share
        where share.org = schema.org and share.namespace = schema.namespace and share.kind = p_kind.kind and share.held
      ));
  -- The second half of a pass takes nobody, unless the budget is used up.
  if v_since is not null and v_pass.half_at <= p_at and v_pass.budget_left > 0 then
    return case when v_pass.deadline_at <= p_at then greatest(v_since, v_pass.deadline_at) end;
  end if;
  return v_since;
end
$$;
comment on function loom._work_oldest(loom.work_kind, timestamptz) is
  'Since when workers could have claimed what has been due longest, of the first 1,000 namespaces where the kind may build.';
