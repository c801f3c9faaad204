create or replace function loom._work_due_count(p_kind loom.work_kind, p_most integer, p_at timestamptz) returns bigint
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_due bigint;
begin
  -- Of a kind that builds by a recipe what is due is not kept while it is switched off.
  if p_kind.recipe is not null and not p_kind.enabled then
    return 0;
  end if;
  select count(*) into v_due
  from (select from loom.build where kind = p_kind.kind and due_at <= p_at order by due_at limit p_most) as due;
  if v_due < p_most then
    -- And whom nobody has looked at since the schema changed.
    select v_due + count(*) into v_due
    from (
      select from loom._work_places(p_kind, '', '', null, null, 1000) as schema
      cross join lateral (
        select from loom.build
        where org = schema.org and namespace = schema.namespace and kind = p_kind.kind and schema_rev < schema.schema_rev
          and lease_id is null and (due_at <= p_at) is not true
        order by schema_rev limit p_most
      ) as unseen
      limit p_most - v_due
    ) as due;
  end if;
  return v_due;
end
$$;
comment on function loom._work_due_count(loom.work_kind, integer, timestamptz) is
  'How many users a claim is to look at, held ones too; it counts no further than so many, and looks for changed schemas in the first 1,000 namespaces. None of a fold that is switched off.';
