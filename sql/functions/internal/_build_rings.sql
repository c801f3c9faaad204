create or replace function loom._build_rings(
  p_old loom.build, p_new loom.build, p_kind loom.work_kind, p_schema loom.profile_schema, p_at timestamptz
) returns void
language plpgsql volatile
as $$
begin
  if p_kind.enabled and p_new.due_at <= p_at and (p_old.due_at <= p_at) is not true and (p_schema.wait_until > p_at) is not true
    and (p_new.modelless or loom._model_calls(p_new.org)) then
    perform loom._ring();
  end if;
end
$$;
comment on function loom._build_rings(loom.build, loom.build, loom.work_kind, loom.profile_schema, timestamptz) is
  'Rings when a build that was not due is due now, and may be built.';
