create or replace function loom._build_changed(
  p_kind text, p_state loom.user_state, p_change loom.source_change, p_at timestamptz
) returns void
language plpgsql volatile
as $$
declare
  v record;
  v_new loom.build;
begin
  select worked as kind, schema, build into v
  from loom.work_kind as worked
  left join loom.profile_schema as schema on schema.org = p_state.org and schema.namespace = p_state.namespace
  left join loom.build as build
    on build.org = p_state.org and build.namespace = p_state.namespace and build.user_id = p_state.user_id
      and build.kind = p_kind
  where worked.kind = p_kind;
  if (v.kind).recipe is not null then
    v.schema := loom._recipe(v.kind, p_state.org, p_state.namespace);
  end if;
  v_new := v.build;
  if v_new.org is null then
    v_new := loom._build_new(p_state, p_kind, v.schema);
  end if;
  if p_change.profile_row then
    v_new.row_state := p_change.row_state;
  end if;
  if p_change.profile_row or p_change.part <> 0::bit(128) then
    v_new.refused := null;
    v_new.refused_until := null;
  end if;
  v_new := loom._build_look(v_new, p_state, v.kind, v.schema, p_at);
  if v_new is distinct from v.build then
    perform loom._build_store(v_new);
    perform loom._build_rings(v.build, v_new, v.kind, v.schema, p_at);
  end if;
end
$$;
comment on function loom._build_changed(text, loom.user_state, loom.source_change, timestamptz) is
  'After a change of the sources that a kind of work reads of a user, or of the row built from them: lists the build when it has fallen behind. A refusal ends with such a change. Rings when it is due now.';
