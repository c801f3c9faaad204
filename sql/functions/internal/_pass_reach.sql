create or replace function loom._pass_reach(p_pass loom.pass, p_at timestamptz) returns loom.pass
language plpgsql volatile
as $$
declare
  v_kind loom.work_kind := loom._kind_of_work(p_pass.kind);
  v_walked integer := 0;
  v_reached integer := 0;
  v_schema loom.profile_schema;
begin
  loop
    for v_schema in
      select * from loom._work_places(v_kind, p_pass.rotation_org, p_pass.rotation_namespace,
        case when p_pass.wrapped then p_pass.start_org end, case when p_pass.wrapped then p_pass.start_namespace end,
        1000 - v_walked)
    loop
      v_walked := v_walked + 1;
      p_pass.rotation_org := v_schema.org;
      p_pass.rotation_namespace := v_schema.namespace;
      if loom._namespace_due(v_schema, p_pass.kind, p_at) then
        insert into loom.pass_share (org, namespace, kind, share, share_left)
        values (v_schema.org, v_schema.namespace, p_pass.kind, 0, 0)
        on conflict (org, namespace, kind) do nothing;
        v_reached := v_reached + 1;
        exit when v_reached = p_pass.budget_left;
      end if;
    end loop;
    exit when v_walked >= 1000 or v_reached = p_pass.budget_left;
    -- It came to the end: on from the beginning, up to where the pass began.
    p_pass.went_round := p_pass.wrapped or (p_pass.start_org, p_pass.start_namespace) = ('', '');
    exit when p_pass.went_round;
    p_pass.wrapped := true;
    p_pass.rotation_org := '';
    p_pass.rotation_namespace := '';
  end loop;
  return p_pass;
end
$$;
comment on function loom._pass_reach(loom.pass, timestamptz) is
  'Goes on in the rotation, over at most 1,000 namespaces where the kind may build, and gives a place in the pass to those with something to do, to no more of them than it has budget for.';
